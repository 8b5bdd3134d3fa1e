import type { CheckCase } from "./check-case.ts";

export const documentedDependencies: CheckCase = {
  broken: {
    "apps/keep/package.json": `
{
  "name": "@hearth-and-keep/keep",
  "dependencies": {
    "driver": "1.0.0"
  },
  "optionalDependencies": {
    "binding": "1.0.0"
  }
}
`,
    "docs/dependencies.md": `
# Dependencies

The driver and \`binding\` are only mentioned.

| Package | For |
|---|---|
| \`documented\` | Everything |
| \`checker-extra\` | Another |
`,
    "package.json": `
{
  "name": "hearth-and-keep",
  "devDependencies": {
    "checker": "1.0.0",
    "documented": "1.0.0"
  }
}
`,
  },
  valid: {
    "apps/keep/package.json": `
{
  "name": "@hearth-and-keep/keep",
  "dependencies": {
    "driver": "1.0.0"
  },
  "devDependencies": {
    "@hearth-and-keep/logging": "0.0.0"
  }
}
`,
    "apps/keep/src/fixtures/package.json": '{ "dependencies": { "recorded": "1.0.0" } }',
    "docs/dependencies.md": `
# Dependencies

| Package | For |
|---|---|
| \`checker\` | Checking |
| \`driver\` | Driving |
`,
    "package.json": `
{
  "name": "hearth-and-keep",
  "devDependencies": {
    "checker": "1.0.0"
  }
}
`,
  },
  expected: ["package.json:4", "apps/keep/package.json:4", "apps/keep/package.json:7"],
};
