import type { CheckCase } from "./check-case.ts";

export const driversAreIndependent: CheckCase = {
  shared: {
    "packages/engine/src/index.ts": "export type Engine = { readonly name: string };",
    "packages/llama-engine/src/index.ts": 'export const slots = "slots";',
  },
  broken: {
    "packages/upstream-engine/src/index.ts": `
import { slots } from "@hearth-and-keep/llama-engine";

export const pool = slots;
`,
  },
  valid: {
    "packages/upstream-engine/src/index.ts": `
import type { Engine } from "@hearth-and-keep/engine";

export const pool: Engine = { name: "pool" };
`,
  },
  expected: ["packages/upstream-engine/src/index.ts:1"],
};
