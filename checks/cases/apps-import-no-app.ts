import type { CheckCase } from "./check-case.ts";

export const appsImportNoApp: CheckCase = {
  shared: {
    "apps/hearth/package.json": `
{
  "name": "@hearth-and-keep/hearth",
  "version": "0.0.0",
  "private": true,
  "type": "module",
  "exports": {
    "./routes": "./src/routes.ts"
  }
}
`,
    "apps/hearth/src/routes.ts": "export const routes = [];",
    "apps/keep/package.json": `
{
  "name": "@hearth-and-keep/keep",
  "version": "0.0.0",
  "private": true,
  "type": "module",
  "exports": {}
}
`,
    "apps/keep/src/failures.ts": 'export { failure } from "@hearth-and-keep/failures";',
    "apps/keep/src/scopes.ts": "export const scopes = [];",
    "packages/failures/src/index.ts": "export const failure = 500;",
  },
  broken: {
    "apps/keep/src/server.ts": `
import { routes } from "@hearth-and-keep/hearth/routes";

export const served = routes;
`,
  },
  valid: {
    "apps/keep/src/server.ts": `
import { scopes } from "./scopes.ts";

export const served = scopes;
`,
  },
  expected: ["apps/keep/src/server.ts:1"],
};
