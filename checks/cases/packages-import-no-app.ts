import type { CheckCase } from "./check-case.ts";

export const packagesImportNoApp: CheckCase = {
  shared: {
    "apps/hearth/package.json": `
{
  "name": "@hearth-and-keep/hearth",
  "version": "0.0.0",
  "private": true,
  "type": "module",
  "exports": {
    ".": "./src/server.ts"
  }
}
`,
    "apps/hearth/src/main.ts": `
import { port } from "./server.ts";

export const main = port;
`,
    "apps/hearth/src/server.ts": "export const port = 11434;",
    "packages/failures/src/index.ts": "export const failure = 500;",
  },
  broken: {
    "packages/logging/src/index.ts": `
import { port } from "@hearth-and-keep/hearth";

export const line = \`listening on \${port}\`;
`,
  },
  valid: {
    "packages/logging/src/index.ts": `
import { failure } from "@hearth-and-keep/failures";

export const line = \`responded with \${failure}\`;
`,
  },
  expected: ["packages/logging/src/index.ts:1"],
};
