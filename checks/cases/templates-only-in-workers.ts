import type { CheckCase } from "./check-case.ts";

export const templatesOnlyInWorkers: CheckCase = {
  shared: {
    "packages/chat-templates/package.json": `
{
  "name": "@hearth-and-keep/chat-templates",
  "type": "module",
  "exports": { ".": "./src/index.ts", "./rendering": "./src/rendering.ts" }
}
`,
    "packages/chat-templates/src/index.ts": "export const thread = 1;",
    "packages/chat-templates/src/rendering.ts": "export const render = 1;",
    "packages/llama-engine/src/worker/main.ts": `
import { render } from "@hearth-and-keep/chat-templates/rendering";

export const prompt = render;
`,
  },
  broken: {
    "packages/upstream-engine/src/index.ts": `
import { render } from "@hearth-and-keep/chat-templates/rendering";

export const prompt = render;
`,
  },
  valid: {
    "packages/upstream-engine/src/index.ts": `
import { thread } from "@hearth-and-keep/chat-templates";

export const prompt = thread;
`,
  },
  expected: ["packages/upstream-engine/src/index.ts:1"],
};
