import type { CheckCase } from "./check-case.ts";

export const explainedAssertions: CheckCase = {
  broken: {
    "packages/logging/src/write.ts": `
// A comment two lines above explains nothing below.

export const size = JSON.parse("1") as number;
export const first = [1][0]!;
export const old = <string>JSON.parse("2");

export class Log {
  name!: string;
}

export const nested = {
  value: JSON.parse("{}") as unknown as string,
};

export const text = "// not a comment" as string;
`,
  },
  valid: {
    "packages/logging/src/record.ts": "export const write = !!1;",
    "packages/logging/src/write.ts": `
import { write as record } from "./record.ts";

// The value is always an integer.
export const size = JSON.parse("1") as number;
export const first = [1][0]!; // the list is never empty
export const list = [1, 2] as const;
export const fixed = <const>["a"];
export const checked = { a: 1 } satisfies object;

/* We wrote the file,
   so its shape is known. */
export const shape = JSON.parse("{}") as object;

export const long = JSON.parse(
  "{}",
  // npm rejects any other shape
) as object;

export const recorded = record;
`,
  },
  expected: [
    "packages/logging/src/write.ts:3",
    "packages/logging/src/write.ts:4",
    "packages/logging/src/write.ts:5",
    "packages/logging/src/write.ts:8",
    "packages/logging/src/write.ts:12",
    "packages/logging/src/write.ts:15",
  ],
};
