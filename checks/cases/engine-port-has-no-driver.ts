import type { CheckCase } from "./check-case.ts";

export const enginePortHasNoDriver: CheckCase = {
  shared: {
    "packages/engine-host/src/index.ts": "export type Sandbox = { readonly name: string };",
    "packages/failures/src/index.ts": "export type Failure = { readonly kind: string };",
  },
  broken: {
    "packages/engine/src/index.ts": `
import type { Sandbox } from "@hearth-and-keep/engine-host";

export type Engine = { readonly sandbox: Sandbox };
`,
  },
  valid: {
    "packages/engine/src/index.ts": `
import type { Failure } from "@hearth-and-keep/failures";

export type Engine = { readonly ended: Failure };
`,
  },
  expected: ["packages/engine/src/index.ts:1"],
};
