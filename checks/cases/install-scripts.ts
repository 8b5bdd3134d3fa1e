import type { CheckCase } from "./check-case.ts";

export const installScripts: CheckCase = {
  broken: {
    ".npmrc": `
audit=false
# strict-allow-scripts=true
`,
    "docs/dependencies.md": `
| \`silent\` | Is needed |
| \`sudden\` | Install script: builds itself |
`,
    "package-lock.json": `
{
  "name": "hearth-and-keep",
  "lockfileVersion": 3,
  "packages": {
    "node_modules/sudden": {
      "version": "1.0.0",
      "hasInstallScript": true
    },
    "node_modules/silent": {
      "version": "1.0.0",
      "hasInstallScript": true
    }
  }
}
`,
    "package.json": `
{
  "name": "hearth-and-keep",
  "allowScripts": {
    "silent@1.0.0": true,
    "gone": true
  }
}
`,
  },
  valid: {
    ".npmrc": `
audit=false
strict-allow-scripts=true
`,
    "docs/dependencies.md": `
| \`@native/engine\` | Runs models. Install script: checks that the binary starts |
| \`builder\` | Install script refused: it only prints advice |
`,
    "package-lock.json": `
{
  "name": "hearth-and-keep",
  "lockfileVersion": 3,
  "packages": {
    "node_modules/@native/engine": {
      "version": "1.0.0",
      "hasInstallScript": true
    },
    "node_modules/builder": {
      "version": "1.0.0",
      "hasInstallScript": true
    },
    "node_modules/plain": {
      "version": "1.0.0"
    }
  }
}
`,
    "package.json": `
{
  "name": "hearth-and-keep",
  "allowScripts": {
    "@native/engine@1.0.0": true,
    "builder": false
  }
}
`,
  },
  expected: [".npmrc:1", "package-lock.json:5", "package-lock.json:9", "package.json:1"],
};
