/**
 * @module
 * The claims about Keep's server: authentication, authorization, what a stolen database reveals, durability across
 * crashes, and performance.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python"];
const keep = "apps/keep/src";

/** Line numbers follow this order. */
const claims: readonly Claim[] = [
  {
    title:
      "Users sign in with both providers in a browser, create a token that is shown once, and list their vaults",
    paths: [`${keep}/sign-in/sign-in.browser.test.ts`],
  },
  {
    title: "Two hundred concurrent first sign-ins of one person create one account with one vault",
    paths: [`${keep}/sign-in/first-sign-ins.integration.test.ts`],
  },
  {
    title: "Every sign-in abuse in the reviewed list is rejected, and its legitimate counterpart signs in",
    paths: [`${keep}/sign-in/abuse-cases.integration.test.ts`],
  },
  {
    title:
      "Every route responds to every principal as the reviewed table specifies, and no token can create a stronger one",
    paths: [
      `${keep}/access/authorization-matrix.integration.test.ts`,
      `${keep}/tokens/attenuation.integration.test.ts`,
    ],
  },
  {
    title:
      "No value, note, token or session is in a dump, data files, the write-ahead log, our logs or errors",
    paths: [`${keep}/database/no-plaintext.integration.test.ts`],
  },
  {
    title:
      "Forged, swapped, rolled-back or altered rows never yield a value or access, and a rolled-back database is detected",
    paths: [
      `${keep}/keys/tampered-rows.integration.test.ts`,
      `${keep}/keys/vault-heads/rolled-back-vaults.integration.test.ts`,
      `${keep}/tokens/forged-tokens.integration.test.ts`,
      `${keep}/sign-in/forged-sessions.integration.test.ts`,
      `${keep}/sign-in/forged-identities.integration.test.ts`,
      `${keep}/commands/verify-audit.integration.test.ts`,
    ],
  },
  {
    title:
      "A tampered audit log is detected at its first bad record, and no value is returned without an audit record",
    paths: [
      `${keep}/audit/tampered-log.integration.test.ts`,
      `${keep}/audit/chains/carried-over.integration.test.ts`,
      `${keep}/audit/fails-closed.integration.test.ts`,
      `${keep}/audit/power-cut.integration.test.ts`,
    ],
  },
  {
    title:
      "Writes survive crashes exactly once, one of many writers wins, and a repeated request takes effect once",
    paths: [
      `${keep}/secrets/node-crashes.integration.test.ts`,
      `${keep}/secrets/concurrent-writers.integration.test.ts`,
    ],
  },
  {
    title:
      "A revoked or leaked token stops working on every node within a second, and scanners detect our tokens",
    paths: [
      `${keep}/cluster/revocation.integration.test.ts`,
      `${keep}/tokens/tokens.integration.test.ts`,
      `${keep}/tokens/gitleaks-rule.integration.test.ts`,
    ],
  },
  {
    title: "Keys are rotated under load and across crashes without a failed read",
    paths: [`${keep}/keys/rotation-under-load.integration.test.ts`],
  },
  {
    title:
      "Reading a value, including its audit record, is about as fast as a bare handler that reads and writes",
    paths: ["bench/keep-reads.bench.test.ts"],
  },
  {
    title: "Listing vaults is about as fast as with a bare handler",
    paths: ["bench/keep-lists.bench.test.ts"],
  },
  {
    title: "A read is as fast with very many tokens and secrets as with few, and uses only indexes",
    paths: ["bench/keep-scale.bench.test.ts"],
  },
  {
    title: "Thousands of generated requests receive only responses that the OpenAPI document declares",
    paths: [`${keep}/openapi/generated-requests.integration.test.ts`],
  },
  {
    title: "The installed program uses less than 120 MB of memory when idle",
    paths: ["claims/ground/tarballs.integration.test.ts"],
  },
  {
    title: "XAES-256-GCM, AES-GCM and canonical JSON match their published test vectors",
    paths: [
      "packages/envelope-crypto/src/published-vectors.test.ts",
      "packages/audit-chain/src/canonical-json.test.ts",
    ],
  },
  {
    title:
      "A dump restored elsewhere can be read and verified; without the key, Keep exits with one error message",
    paths: [`${keep}/database/backup-restore.integration.test.ts`],
  },
  {
    title: "Imported secrets are exported unchanged, and dangling references are rejected by name",
    paths: [
      `${keep}/secrets/exchange/round-trip.integration.test.ts`,
      `${keep}/secrets/exchange/expand-references.integration.test.ts`,
    ],
  },
  {
    title: "The README's quick start starts Keep, signs in, creates a token and reads a secret",
    paths: ["claims/ground/quick-start.browser.test.ts"],
  },
];

export const keepLines: readonly ShowLine[] = claimLines("keep", claims, everything);
