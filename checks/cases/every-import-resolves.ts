import type { CheckCase } from "./check-case.ts";

export const everyImportResolves: CheckCase = {
  shared: {
    "packages/failures/src/index.ts": "export const failure = 500;",
  },
  broken: {
    "apps/hearth/src/routes.ts": `
import { failure } from "./failures.ts";

export const status = failure;
`,
    "apps/hearth/src/server.ts": `
import { failure } from "@hearth-and-keep/failure";

export const status = failure;
`,
  },
  valid: {
    "apps/hearth/src/server.ts": `
import { failure } from "@hearth-and-keep/failures";

export const status = failure;
`,
  },
  expected: ["apps/hearth/src/routes.ts:1", "apps/hearth/src/server.ts:1"],
};
