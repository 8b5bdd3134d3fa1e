import type { CheckCase } from "./check-case.ts";

export const coreHasNoHttp: CheckCase = {
  shared: {
    "apps/hearth/src/dialects/ollama/schema.ts": `
import { turns } from "../../generation/conversation.ts";

export const bound = turns;
`,
    "apps/hearth/src/generation/conversation.ts": "export const turns = 1;",
    "apps/hearth/src/generation/generate.model.test.ts": `
import { bound } from "../dialects/ollama/schema.ts";

export const tested = bound;
`,
    "apps/hearth/src/routes.ts": `
import { bound } from "./dialects/ollama/schema.ts";

export const routes = [bound];
`,
    "installed/fastify/index.js": "export const fastify = 1;",
    "installed/fastify/package.json":
      '{ "name": "fastify", "version": "5.0.0", "type": "module", "exports": { ".": "./index.js" } }',
    "package.json": '{ "dependencies": { "fastify": "5.0.0" } }',
    "packages/failures/src/index.ts": "export const failure = 500;",
    "packages/http-service/src/index.ts": "export const listen = (): number => 80;",
  },
  broken: {
    "apps/hearth/src/generation/generate.ts": `
import { listen } from "@hearth-and-keep/http-service";

export const port = listen();
`,
    "apps/hearth/src/models/catalog.ts": `
import type { bound } from "../dialects/ollama/schema.ts";

export type Bound = typeof bound;
`,
    "apps/hearth/src/scheduling/scheduler.ts": `
import { routes } from "../routes.ts";

export const served = routes;
`,
    "apps/hearth/src/scheduling/queue.ts": `
import { fastify } from "fastify";

export const queue = fastify;
`,
  },
  valid: {
    "apps/hearth/src/generation/generate.ts": `
import { failure } from "@hearth-and-keep/failures";

export const status = failure;
`,
    "apps/hearth/src/models/catalog.ts": `
import type { turns } from "../generation/conversation.ts";

export type Turns = typeof turns;
`,
  },
  expected: [
    "apps/hearth/src/generation/generate.ts:1",
    "apps/hearth/src/models/catalog.ts:1",
    "apps/hearth/src/scheduling/scheduler.ts:1",
    "apps/hearth/src/scheduling/queue.ts:1",
  ],
};
