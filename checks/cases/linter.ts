import type { CheckCase } from "./check-case.ts";

export const linter: CheckCase = {
  broken: {
    "packages/logging/src/write.ts": `
async function send(line: string): Promise<void> {
  await Promise.resolve(line);
}

export function write(line: string): void {
  send(line);
}

export function name(level: "low" | "high"): number {
  switch (level) {
    case "low":
      return 1;
  }
  return 2;
}

export const four = (one: 1, two: 2, three: 3, more: 4): number => one + two + three + more;

// @ts-expect-error even with a reason
export const text: string = 1;
// @ts-ignore
export const other: string = 2;

export function loose(value: any): Array<any> {
  return [value];
}

export async function writeUnder(lock: AsyncDisposable & { name: string }): Promise<void> {
  await using held = lock;
  return send(held.name);
}
`,
    "packages/logging/src/Write_Line.ts": "export const a = 1;",
    "packages/logging/src/writeLine.ts": "export const a = 1;",
  },
  valid: {
    "packages/logging/src/write.ts": `
async function send(line: string): Promise<void> {
  await Promise.resolve(line);
}

export async function write(line: string): Promise<void> {
  await send(line);
}

export function name(level: "low" | "high"): number {
  switch (level) {
    case "low":
      return 1;
    case "high":
      return 2;
  }
}

export const three = (one: 1, two: 2, last: 3): number => one + two + last;

export type Anything = { any: unknown };
export const any = (anything: Anything): string => \`any \${String(anything.any)}\`;

export async function writeUnder(lock: AsyncDisposable & { name: string }): Promise<void> {
  await using held = lock;
  return await send(held.name);
}
`,
    "packages/logging/src/base-address.test.ts": "export const a = 1;",
  },
  expected: [
    "packages/logging/src/Write_Line.ts:1",
    "packages/logging/src/write.ts:6",
    "packages/logging/src/write.ts:10",
    "packages/logging/src/write.ts:17",
    "packages/logging/src/write.ts:19",
    "packages/logging/src/write.ts:21",
    "packages/logging/src/write.ts:24",
    "packages/logging/src/write.ts:24",
    "packages/logging/src/write.ts:30",
    "packages/logging/src/writeLine.ts:1",
  ],
};
