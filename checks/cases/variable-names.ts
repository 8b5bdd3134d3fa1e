import type { CheckCase } from "./check-case.ts";

export const variableNames: CheckCase = {
  broken: {
    "apps/hearth/bin/hearth.js": "for (const cfg of []) console.log(cfg);",
    "packages/logging/src/write.ts": `
export const data = 1;

export function write(msg: string): string {
  const { info, size: tmp } = JSON.parse(msg);
  const [res] = [info, tmp];
  return [1].map((ctx) => \`\${ctx}\${res}\`).join("");
}

try {
  write("");
} catch (req) {
  throw req;
}
`,
  },
  valid: {
    "packages/logging/src/write.ts": `
export type Log = { info(message: string): void; data: string };

export function write(log: Log, response: { data: string; info: string }): string {
  const { data: content, info: summary } = response;
  log.info(log.data);
  return content + summary + response.data;
}

export const database = { data: 1, res: 2 };
`,
  },
  expected: [
    "packages/logging/src/write.ts:1",
    "packages/logging/src/write.ts:3",
    "packages/logging/src/write.ts:4",
    "packages/logging/src/write.ts:4",
    "packages/logging/src/write.ts:5",
    "packages/logging/src/write.ts:6",
    "packages/logging/src/write.ts:11",
    "apps/hearth/bin/hearth.js:1",
  ],
};
