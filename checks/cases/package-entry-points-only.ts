import type { CheckCase } from "./check-case.ts";

export const packageEntryPointsOnly: CheckCase = {
  shared: {
    "apps/hearth/src/listen.ts": "export const listen = 1;",
    "apps/hearth/src/routes.ts": 'export { listen } from "./listen.ts";',
    "apps/hearth/src/server.test.ts": `
import { lines } from "../../../packages/logging/src/testing.ts";

export const kept = lines;
`,
    "packages/logging/package.json": `
{
  "name": "@hearth-and-keep/logging",
  "version": "0.0.0",
  "private": true,
  "type": "module",
  "exports": {
    ".": "./src/index.ts"
  }
}
`,
    "packages/logging/src/index.ts": 'export { write } from "./write.ts";',
    "packages/logging/src/testing.ts": "export const lines: string[] = [];",
    "packages/logging/src/write.ts": "export const write = (text: string): string => text;",
    "scripts/list.ts": `
import { tool } from "./tool.ts";

export const list = [tool];
`,
    "scripts/tool.ts": "export const tool = 1;",
  },
  broken: {
    "apps/hearth/src/server.ts": `
import { write } from "../../../packages/logging/src/write.ts";

export const written = write("ready");
`,
    "packages/failures/src/index.ts": `
import { write } from "../../logging/src/write.ts";

export const failed = write("failed");
`,
    "scripts/check.ts": `
import { write } from "../packages/logging/src/write.ts";

write("checked");
`,
  },
  valid: {
    "apps/hearth/src/server.ts": `
import { write } from "@hearth-and-keep/logging";

export const written = write("ready");
`,
    "packages/failures/src/index.ts": `
import { write } from "@hearth-and-keep/logging";

export const failed = write("failed");
`,
    "scripts/check.ts": `
import { write } from "@hearth-and-keep/logging";

write("checked");
`,
  },
  expected: ["apps/hearth/src/server.ts:1", "packages/failures/src/index.ts:1", "scripts/check.ts:1"],
};
