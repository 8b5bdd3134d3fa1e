import type { CheckCase } from "./check-case.ts";

export const architectureDrawing: CheckCase = {
  shared: {
    "apps/hearth/src/main.ts": "export {};",
    "apps/hearth/src/access/authenticate.ts": "export {};",
    "packages/logging/src/index.ts": "export {};",
  },
  broken: {
    "ARCHITECTURE.md": `
# Architecture

{fence}
apps/
  hearth/          the model server
    src/
      main.ts      picks a command
      papers/      documents
packages/
{fence}
`,
  },
  valid: {
    "ARCHITECTURE.md": `
# Architecture

{fence}
apps/
  hearth/          the model server
    src/
      main.ts      picks a command
      access/      keys, hosts, origins
packages/
  logging/         structured lines
{fence}
`,
  },
  expected: ["ARCHITECTURE.md:8", "ARCHITECTURE.md:4", "ARCHITECTURE.md:4"],
};
