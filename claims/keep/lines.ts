/**
 * @module
 * The claims about Keep's server: who gets in, who may what, what the database shows to whoever steals it, what is left
 * after any crash, and what it costs.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python"];
const keep = "apps/keep/src";

/** In the order of their lines. */
const claims: readonly Claim[] = [
  {
    title: "People sign in with both providers in a browser, mint a token shown once, and list their vaults",
    paths: [`${keep}/sign-in/sign-in.browser.test.ts`],
  },
  {
    title: "Two hundred first sign-ins of one person at once make one account with one vault",
    paths: [`${keep}/sign-in/first-sign-ins.integration.test.ts`],
  },
  {
    title: "Every abuse of a sign-in in the reviewed list is refused, and its good twin signs in",
    paths: [`${keep}/sign-in/abuse-cases.integration.test.ts`],
  },
  {
    title:
      "Every route answers every principal as the reviewed table says, and no token mints more than itself",
    paths: [
      `${keep}/access/authorization-matrix.integration.test.ts`,
      `${keep}/tokens/attenuation.integration.test.ts`,
    ],
  },
  {
    title:
      "No value, note, token or session is in a dump, data files, the log of changes, our logs or errors",
    paths: [`${keep}/database/no-plaintext.integration.test.ts`],
  },
  {
    title:
      "Rows that were swapped, put back or changed give no other value, and a put-back database is found",
    paths: [
      `${keep}/keys/tampered-rows.integration.test.ts`,
      `${keep}/commands/verify-audit.integration.test.ts`,
    ],
  },
  {
    title: "A tampered audit chain is found out at its first bad row, and without a record no value leaves",
    paths: [
      `${keep}/audit/tampered-log.integration.test.ts`,
      `${keep}/audit/fails-closed.integration.test.ts`,
      `${keep}/audit/power-cut.integration.test.ts`,
    ],
  },
  {
    title: "Writes survive kills once each, one of many writers wins, a repeated request has one effect",
    paths: [
      `${keep}/secrets/node-crashes.integration.test.ts`,
      `${keep}/secrets/concurrent-writers.integration.test.ts`,
    ],
  },
  {
    title: "A revoked or leaked token ends on every node within a second, and scanners find our tokens",
    paths: [
      `${keep}/cluster/revocation.integration.test.ts`,
      `${keep}/tokens/tokens.integration.test.ts`,
      `${keep}/tokens/gitleaks-rule.integration.test.ts`,
    ],
  },
  {
    title: "Keys are exchanged under load and across kills without a failed read",
    paths: [`${keep}/keys/rotation-under-load.integration.test.ts`],
  },
  {
    title: "Values are read, audit included, about as fast as a bare handler reads and writes",
    paths: ["bench/keep-reads.bench.test.ts"],
  },
  {
    title: "Vaults are listed about as fast as by a bare handler",
    paths: ["bench/keep-lists.bench.test.ts"],
  },
  {
    title: "Among very many tokens and secrets a read is as quick as among few, by index alone",
    paths: ["bench/keep-scale.bench.test.ts"],
  },
  {
    title: "Thousands of generated requests get no answer that the API's document does not have",
    paths: [`${keep}/openapi/generated-requests.integration.test.ts`],
  },
  {
    title: "The installed program takes less than 120 MB when idle",
    paths: ["claims/ground/tarballs.integration.test.ts"],
  },
  {
    title: "XAES-256-GCM, AES-GCM and canonical JSON are as their published vectors say",
    paths: [
      "packages/envelope-crypto/src/published-vectors.test.ts",
      "packages/audit-chain/src/canonical-json.test.ts",
    ],
  },
  {
    title: "A dump restored elsewhere reads and verifies; without the key nothing happens but one sentence",
    paths: [`${keep}/database/backup-restore.integration.test.ts`],
  },
  {
    title: "What is imported is exported as it was, and references that lead nowhere are refused by name",
    paths: [
      `${keep}/secrets/exchange/round-trip.integration.test.ts`,
      `${keep}/secrets/exchange/expand-references.integration.test.ts`,
    ],
  },
  {
    title: "The README's quick start starts Keep, signs in, mints a token and reads a secret",
    paths: ["claims/ground/quick-start.browser.test.ts"],
  },
];

export const keepLines: readonly ShowLine[] = claimLines("keep", claims, everything);
