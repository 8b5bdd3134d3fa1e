import type { CheckCase } from "./check-case.ts";

export const lockfileAddresses: CheckCase = {
  broken: {
    "package-lock.json": `
{
  "name": "hearth-and-keep",
  "lockfileVersion": 3,
  "packages": {
    "node_modules/a": {
      "version": "1.0.0",
      "resolved": "https://packages.example/a.tgz"
    },
    "node_modules/b": {
      "version": "1.0.0",
      "resolved": "git+ssh://git@packages.example/b.git"
    }
  }
}
`,
    "scripts/toolchain/package-lock.json": `
{
  "name": "hearth-and-keep",
  "lockfileVersion": 3,
  "packages": {
    "node_modules/c": {
      "version": "1.0.0",
      "resolved": "https://packages.example/c.tgz"
    }
  }
}
`,
  },
  valid: {
    "apps/hearth/src/fixtures/package-lock.json": '{ "resolved": "https://packages.example/a.tgz" }',
    "package-lock.json": `
{
  "name": "hearth-and-keep",
  "lockfileVersion": 3,
  "packages": {
    "node_modules/a": {
      "version": "1.0.0",
      "integrity": "sha512-x"
    },
    "node_modules/@hearth-and-keep/logging": {
      "resolved": "packages/logging",
      "link": true
    }
  }
}
`,
    "settings.json": '{ "resolved": "https://packages.example/a.tgz" }',
  },
  expected: ["package-lock.json:7", "package-lock.json:11", "scripts/toolchain/package-lock.json:7"],
};
