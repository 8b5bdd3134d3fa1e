import type { CheckCase } from "./check-case.ts";

export const browserCodeHasNoNode: CheckCase = {
  shared: {
    "apps/keep-console/src/router.test.ts": `
import { readFileSync } from "node:fs";

export const read = readFileSync;
`,
    "apps/keep/src/server.ts": `
import { createServer } from "node:http";

export const server = createServer;
`,
  },
  broken: {
    "apps/hearth-web/src/chat.ts": `
import { Buffer } from "buffer";

export const bytes = Buffer;
`,
    "apps/keep-console/src/router.ts": `
import { join } from "node:path";

export const path = join("vaults", "1");
`,
    "packages/page-design/src/icons.ts": `
import { readFileSync } from "node:fs";

export const icon = readFileSync;
`,
    "packages/audit-records/src/record.ts": `
import { hash } from "node:crypto";

export const sha256 = hash;
`,
    "packages/transparency-log/src/hashing.ts": `
import { hash } from "node:crypto";

export const sha256 = hash;
`,
  },
  valid: {
    "apps/keep-console/src/router.ts": `
import { vault } from "./vault.ts";

export const path = ["vaults", vault].join("/");
`,
    "apps/keep-console/src/vault.ts": 'export const vault = "1";',
  },
  expected: [
    "apps/hearth-web/src/chat.ts:1",
    "apps/keep-console/src/router.ts:1",
    "packages/audit-records/src/record.ts:1",
    "packages/page-design/src/icons.ts:1",
    "packages/transparency-log/src/hashing.ts:1",
  ],
};
