import type { CheckCase } from "./check-case.ts";

export const mainIsNeverImported: CheckCase = {
  shared: {
    "apps/hearth/bin/hearth.js": 'await import("../src/main.ts");',
    "apps/hearth/src/main.ts": 'export const program = "hearth";',
    "apps/hearth/src/server.ts": "export const port = 11434;",
  },
  broken: {
    "apps/hearth/src/commands/serve.ts": `
import { program } from "../main.ts";

export const title = program;
`,
  },
  valid: {
    "apps/hearth/src/commands/serve.ts": `
import { port } from "../server.ts";

export const title = port;
`,
  },
  expected: ["apps/hearth/src/commands/serve.ts:1"],
};
