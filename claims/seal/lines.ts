/**
 * @module
 * The claims about what one tenant, a lost database server or a stale node can do to the others in Keep: it delays them
 * little, stops none, and loses nothing that was confirmed.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";
import findings from "./findings.json" with { type: "json" };

const topic = "seal";
const everything: readonly Need[] = ["debian packages", "python"];
const keep = "apps/keep/src";

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const lines: readonly Line[] = [
  {
    line: 1,
    title:
      "Whoever can change everything in the database gets no value that is not theirs, and every change that matters is named",
    paths: [`${keep}/audit/superuser-attacks.integration.test.ts`],
  },
  {
    line: 2,
    title: "The application's own database role cannot change or erase an audit record",
    paths: [`${keep}/audit/application-role.integration.test.ts`],
  },
  {
    line: 3,
    title:
      "An account at its limits delays another account little, fails none of its requests, and leaves the node ready",
    paths: ["bench/tenants.bench.test.ts"],
  },
  {
    line: 4,
    title:
      "No request succeeds by a commit that a standby did not confirm, and no stale node revives a retired key",
    paths: [
      `${keep}/database/cancelled-standby-wait.integration.test.ts`,
      `${keep}/keys/retired-key.integration.test.ts`,
    ],
  },
  {
    line: 5,
    title:
      "Reading values of one vault and of many, with durable records, is about as fast as with a bare handler",
    paths: ["bench/keep-vault-reads.bench.test.ts"],
  },
  {
    line: 6,
    title: "Listing twenty full vaults is about as fast as with a bare handler",
    paths: ["bench/keep-lists.bench.test.ts"],
  },
  {
    line: 7,
    title: "Clients that write to one vault at the same time are about half as fast as with a bare handler",
    paths: ["bench/keep-writes.bench.test.ts"],
  },
  {
    line: 8,
    title:
      "Proofs and checkpoints of a log of a million records are verified by an independent implementation",
    paths: ["packages/transparency-log/src/many-records.integration.test.ts"],
  },
  {
    line: 9,
    title: "Kills of nodes and of the database leave no value without its record, and no gap unexplained",
    paths: [`${keep}/secrets/node-crashes.integration.test.ts`],
  },
  {
    line: 10,
    title:
      "Months of audit records are archived and dropped while Keep serves; what is kept and every archive verify, and the database stays bounded",
    paths: [
      `${keep}/audit/retention.integration.test.ts`,
      `${keep}/audit/archive/refused-months.integration.test.ts`,
      `${keep}/audit/archive/tampered-archives.integration.test.ts`,
    ],
  },
  {
    line: 11,
    title:
      "The weaknesses that a review of Keep found are absent, each covered by a test named by its symptom",
    paths: ["claims/seal/findings.test.ts", ...filesNamedIn(findings)],
  },
];

/** The files of the tests that prove the findings absent. */
function filesNamedIn(listed: typeof findings): readonly string[] {
  return [...new Set(listed.flatMap(({ tests }) => tests.map(({ file }) => file)))].toSorted();
}

export const sealLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs: everything,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
