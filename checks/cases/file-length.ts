import type { CheckCase } from "./check-case.ts";

export const fileLength: CheckCase = {
  broken: {
    "checks/long-files.json": `
{
  "packages/logging/src/no-reason.ts": " ",
  "packages/logging/src/short.ts": "It was long once"
}
`,
    "packages/logging/src/long.test.ts": "{lines:601}",
    "packages/logging/src/long.ts": "{lines:401}",
    "packages/logging/src/no-reason.ts": "{lines:401}",
    "packages/logging/src/short.ts": "{lines:400}",
  },
  valid: {
    "checks/long-files.json": '{ "packages/logging/src/table.ts": "One table, generated from the standard" }',
    "packages/logging/src/fixtures/response.ts": "{lines:700}",
    "packages/logging/src/long.test.ts": "{lines:600}",
    "packages/logging/src/long.ts": "{lines:400}",
    "packages/logging/src/table.ts": "{lines:401}",
  },
  expected: [
    "packages/logging/src/long.ts:401",
    "packages/logging/src/long.test.ts:601",
    "packages/logging/src/no-reason.ts:401",
    "checks/long-files.json:3",
  ],
};
