import type { CheckCase } from "./check-case.ts";

export const sqlOnlyInQueries: CheckCase = {
  shared: {
    "apps/keep/package.json": `
{
  "name": "@hearth-and-keep/keep",
  "version": "0.0.0",
  "private": true,
  "type": "module",
  "exports": {},
  "dependencies": {
    "pg": "8.0.0"
  }
}
`,
    "apps/keep/src/database/pool.ts": `
import { Pool } from "pg";

export const pool = Pool;
`,
    "apps/keep/src/commands/open-stored.ts": `
import { pool } from "../database/pool.ts";

export const openStored = pool;
`,
    "apps/keep/src/secrets/queries.ts": `
import { pool } from "../database/pool.ts";

export const insert = pool;
`,
    "apps/keep/src/secrets/write-secret.test.ts": `
import { Pool } from "pg";

export const tested = Pool;
`,
    "installed/pg/index.js": "export const Pool = Object;",
    "installed/pg/package.json":
      '{ "name": "pg", "version": "8.0.0", "type": "module", "exports": { ".": "./index.js" } }',
    "package.json": '{ "dependencies": { "pg": "8.0.0" } }',
    "packages/test-servers/src/index.ts": `
import { Pool } from "pg";

export const client = Pool;
`,
  },
  broken: {
    "apps/keep/src/secrets/write-secret.ts": `
import { pool } from "../database/pool.ts";

export const write = pool;
`,
    "apps/keep/src/tokens/create-token.ts": `
import { Pool } from "pg";

export const mint = Pool;
`,
  },
  valid: {
    "apps/keep/src/secrets/write-secret.ts": `
import type { pool } from "../database/pool.ts";

export type Write = typeof pool;
`,
    "apps/keep/src/tokens/create-token.ts": `
import { insert } from "../secrets/queries.ts";

export const mint = insert;
`,
  },
  expected: ["apps/keep/src/secrets/write-secret.ts:1", "apps/keep/src/tokens/create-token.ts:1"],
};
