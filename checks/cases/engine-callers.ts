import type { CheckCase } from "./check-case.ts";

export const engineCallers: CheckCase = {
  shared: {
    "apps/hearth/src/main.ts": `
import { engine } from "@hearth-and-keep/llama-engine";

export const main = engine;
`,
    "apps/hearth/src/scheduling/scheduler.ts": `
import { engine } from "@hearth-and-keep/llama-engine";

export const loaded = engine;
`,
    "apps/hearth/src/server.test.ts": `
import { engine } from "@hearth-and-keep/llama-engine";

export const tested = engine;
`,
    "apps/hearth/src/server.ts": `
import { loaded } from "./scheduling/scheduler.ts";

export const server = loaded;
`,
    "installed/node-llama-cpp/index.js": "export const binding = 1;",
    "installed/node-llama-cpp/package.json":
      '{ "name": "node-llama-cpp", "version": "3.0.0", "type": "module", "exports": { ".": "./index.js" } }',
    "package.json": '{ "dependencies": { "node-llama-cpp": "3.0.0" } }',
    "packages/llama-engine/src/index.ts": `
export const engine = 1;
export type Engine = number;
`,
    "packages/upstream-engine/src/index.ts": "export const upstream = 1;",
  },
  broken: {
    "apps/hearth/src/dialects/ollama/generate.ts": `
import { engine } from "@hearth-and-keep/llama-engine";

export const called = engine;
`,
    "apps/hearth/src/models/catalog.ts": `
import { binding } from "node-llama-cpp";

export const read = binding;
`,
  },
  valid: {
    "apps/hearth/src/dialects/ollama/generate.ts": `
import type { Engine } from "@hearth-and-keep/llama-engine";

export const called: Engine = 1;
`,
  },
  expected: ["apps/hearth/src/dialects/ollama/generate.ts:1", "apps/hearth/src/models/catalog.ts:1"],
};
