import type { CheckCase } from "./check-case.ts";

export const sdksImportNothing: CheckCase = {
  shared: {
    "packages/failures/src/index.ts": "export const failure = 500;",
    "sdks/typescript/src/errors.ts": "export const failure = 500;",
  },
  broken: {
    "sdks/typescript/src/vault.ts": `
import { failure } from "@hearth-and-keep/failures";

export const thrown = failure;
`,
  },
  valid: {
    "sdks/typescript/src/vault.ts": `
import { readFile } from "node:fs/promises";
import { failure } from "./errors.ts";

export const thrown = [readFile, failure];
`,
  },
  expected: ["sdks/typescript/src/vault.ts:1"],
};
