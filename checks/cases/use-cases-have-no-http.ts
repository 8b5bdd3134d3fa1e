import type { CheckCase } from "./check-case.ts";

export const useCasesHaveNoHttp: CheckCase = {
  shared: {
    "apps/keep/src/authorization/scopes.ts": "export const scopes = [];",
    "apps/keep/src/commands/serve.ts": `
import { reply } from "@hearth-and-keep/http-service";

export const serve = reply;
`,
    "apps/keep/src/secrets/http.ts": `
import { reply } from "@hearth-and-keep/http-service";

export const response = reply(200);
`,
    "apps/keep/src/secrets/write-secret.test.ts": `
import { reply } from "@hearth-and-keep/http-service";

export const tested = reply;
`,
    "apps/keep/src/server.ts": `
import { reply } from "@hearth-and-keep/http-service";

export const server = reply;
`,
    "apps/keep/src/vaults/open-vault.ts": `
import { scopes } from "../authorization/scopes.ts";

export const open = scopes;
`,
    "installed/fastify/index.js": "export const fastify = 1;",
    "installed/fastify/package.json":
      '{ "name": "fastify", "version": "5.0.0", "type": "module", "exports": { ".": "./index.js" } }',
    "package.json": '{ "dependencies": { "fastify": "5.0.0" } }',
    "packages/http-service/src/index.ts": "export const reply = (status: number): number => status;",
  },
  broken: {
    "apps/keep/src/secrets/write-secret.ts": `
import { reply } from "@hearth-and-keep/http-service";

export const write = reply(201);
`,
    "apps/keep/src/tokens/create-token.ts": `
import { fastify } from "fastify";

export const mint = fastify;
`,
  },
  valid: {
    "apps/keep/src/secrets/write-secret.ts": "export const write = 1;",
  },
  expected: ["apps/keep/src/secrets/write-secret.ts:1", "apps/keep/src/tokens/create-token.ts:1"],
};
