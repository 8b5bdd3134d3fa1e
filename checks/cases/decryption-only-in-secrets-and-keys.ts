import type { CheckCase } from "./check-case.ts";

export const decryptionOnlyInSecretsAndKeys: CheckCase = {
  shared: {
    "apps/keep/src/audit/record.test.ts": `
import { open } from "@hearth-and-keep/envelope-crypto";

export const tested = open;
`,
    "apps/keep/src/keys/ring.ts": `
import { open } from "@hearth-and-keep/envelope-crypto";

export const unseal = open;
`,
    "apps/keep/src/scopes.ts": "export const scopes = [];",
    "apps/keep/src/secrets/read-secret.ts": `
import { open } from "@hearth-and-keep/envelope-crypto";

export const read = open;
`,
    "apps/keep/src/server.ts": `
import { scopes } from "./scopes.ts";

export const server = scopes;
`,
    "bench/opening.ts": `
import { open } from "@hearth-and-keep/envelope-crypto";

export const opening = open;
`,
    "packages/envelope-crypto/src/index.ts": "export const open = (sealed: string): string => sealed;",
    "packages/envelope-crypto/src/rewrap.ts": `
import { open } from "./index.ts";

export const rewrap = open;
`,
  },
  broken: {
    "apps/keep/src/audit/record.ts": `
import { open } from "@hearth-and-keep/envelope-crypto";

export const record = open;
`,
    "packages/vault-contract/src/index.ts": `
import { open } from "@hearth-and-keep/envelope-crypto";

export const shape = open;
`,
  },
  valid: {
    "apps/keep/src/audit/record.ts":
      'export const record = (open: (sealed: string) => string): string => open("");',
    "packages/vault-contract/src/index.ts": 'export const shape = "";',
  },
  expected: ["apps/keep/src/audit/record.ts:1", "packages/vault-contract/src/index.ts:1"],
};
