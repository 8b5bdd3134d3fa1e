import type { CheckCase } from "./check-case.ts";

export const environmentInConfig: CheckCase = {
  broken: {
    "apps/hearth/bin/hearth.js": "console.log(process.env.HOME);",
    "apps/hearth/src/commands/serve.ts": `
import runtime from "process";
import * as whole from "node:process";

export const home = runtime.env["HOME"];
export const path = whole.env["PATH"];

let env: NodeJS.ProcessEnv;
({ env } = process);
export const language = env["LANG"];
`,
    "apps/hearth/src/main.ts": `
import { argv, env as environment } from "node:process";

export const home = environment["HOME"] ?? argv[0];
`,
    "apps/hearth/src/server.test.ts": 'process.env["HOST"] = "127.0.0.1";',
    "apps/hearth/src/server.ts": `
export const host = process.env["HOST"];
export const port = process["env"].PORT;
export const { env } = process;
export const { env: environment } = globalThis.process;
export const home = globalThis["process"].env.HOME;
export const { pid, env: mixed } = process;
`,
  },
  valid: {
    "apps/hearth/src/config.ts": `
import { env } from "node:process";

export const host = process.env["HOST"] ?? env["HOSTNAME"];
`,
    "apps/hearth/src/server.ts": `
import { argv } from "node:process";
import { host } from "./config.ts";
import settings, { env } from "./environment.ts";

// process.env is read in config.ts
export const text = "process.env";
export const child = { env: {}, process: 1 };
export const list = [child];
export const given = child.env;
export const { pid } = process;
export const first = argv[0] ?? host;
export const other = child["env"] ?? process["argv"] ?? child["process"];
export const { env: theirs } = child;
let running = process;
running = process;
let title: string;
({ title } = process);
export const both = [running, title, env, theirs, list[0].env, settings.env];
`,
    "apps/hearth/src/environment.ts": `
export const env = {};
export default { env };
`,
  },
  expected: [
    "apps/hearth/src/server.ts:1",
    "apps/hearth/src/server.ts:2",
    "apps/hearth/src/server.ts:3",
    "apps/hearth/src/server.ts:4",
    "apps/hearth/src/server.ts:5",
    "apps/hearth/src/main.ts:1",
    "apps/hearth/src/commands/serve.ts:4",
    "apps/hearth/src/commands/serve.ts:5",
    "apps/hearth/src/commands/serve.ts:8",
    "apps/hearth/src/server.test.ts:1",
    "apps/hearth/bin/hearth.js:1",
    "apps/hearth/src/server.ts:6",
  ],
};
