import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import { expect, test } from "vitest";
import { type Alter, change, changeMember, lineOf, remove, writeLines } from "./test/alter-lines.ts";
import { type Alteration, nameOf, rejectionOf, verifyAltered } from "./test/alteration.ts";
import { account, exportStream, type Line, makeExport, otherStream, secret } from "./test/make-export.ts";
import { verifyAuditExport } from "./verify-export.ts";

const notInLog = "record is not in the log: its proof does not match";
const content = "content does not match what was recorded";
const missing = "the stream's record before it is missing";
const notContinued = "record does not continue the stream's record before it";
const forged: Json = { type: "secret-written", path: "/forged" };

const alterations: readonly Alteration[] = [
  { name: "changed content", alter: change("record", 1, { body: forged }), reason: content, record: 1 },
  { name: "content after erasure", alter: change("record", 3, { body: forged }), reason: content, record: 3 },
  { name: "a changed hash of erased content", alter: forgeErased, reason: notInLog, record: 3 },
  {
    name: "content changed with its hash",
    alter: change("record", 1, hashed(forged)),
    reason: notInLog,
    record: 1,
  },
  { name: "contents of two records exchanged", alter: exchangeBodies, reason: content, record: 1 },
  { name: "a changed outcome", alter: change("record", 2, { outcome: "read" }), reason: notInLog, record: 2 },
  {
    name: "a changed subject",
    alter: change("record", 2, { subject_id: account }),
    reason: notInLog,
    record: 2,
  },
  {
    name: "a removed subject",
    alter: change("record", 2, { subject_id: null }),
    reason: notInLog,
    record: 2,
  },
  {
    name: "an added subject",
    alter: change("record", 9, { subject_id: secret }),
    reason: notInLog,
    record: 9,
  },
  { name: "a changed revision", alter: change("record", 2, { revision: 7 }), reason: notInLog, record: 2 },
  { name: "a removed revision", alter: change("record", 2, { revision: null }), reason: notInLog, record: 2 },
  { name: "an added revision", alter: change("record", 9, { revision: 0 }), reason: notInLog, record: 9 },
  {
    name: "a changed time",
    alter: changeMember("record", 2, ["number", next]),
    reason: notInLog,
    record: /^1\/\d{16}$/u,
  },
  {
    name: "an adopted record claimed",
    alter: change("record", 8, { log: 2 }),
    reason: notInLog,
    record: /^2\/\d{16}$/u,
  },
  { name: "another account", alter: change("stream", 0, { account: secret }), reason: notInLog, record: 0 },
  {
    name: "another stream",
    alter: change("stream", 0, { stream: otherStream }),
    reason: notInLog,
    record: 0,
  },
  { name: "a missing first record", alter: remove("record", 0), reason: missing, record: 1 },
  { name: "a missing record", alter: remove("record", 4), reason: missing, record: 5 },
  { name: "a missing adopted record", alter: remove("record", 8), reason: missing, record: 9 },
  { name: "a missing record, hidden", alter: hideSecond, reason: notInLog, record: 2 },
  {
    name: "a duplicate",
    alter: change("record", 4, (line) => [line, line]),
    reason: "duplicate record",
    record: 4,
  },
  {
    name: "an earlier record repeated",
    alter: repeatFirst,
    reason: "not in the order of the log",
    record: 0,
  },
  { name: "two records exchanged", alter: exchangeRecords, reason: missing, record: 5 },
  { name: "a record of another log", alter: moveToNextLog, reason: notContinued, record: 7 },
  { name: "the only record of another log", alter: moveAlone, reason: notInLog, record: 0 },
  {
    name: "an index beyond the log",
    alter: change("record", 7, { index: 24 }),
    reason: "beyond the end",
    record: 7,
  },
  { name: "another index", alter: change("record", 7, { index: 22 }), reason: notInLog, record: 7 },
  {
    name: "no previous record",
    alter: change("record", 2, { previous: null }),
    reason: notContinued,
    record: 2,
  },
  {
    name: "an earlier previous record",
    alter: change("record", 2, { previous: 0 }),
    reason: notContinued,
    record: 2,
  },
  {
    name: "a later previous record",
    alter: change("record", 2, { previous: 4 }),
    reason: missing,
    record: 2,
  },
  {
    name: "a previous one of the first",
    alter: change("record", 8, { previous: 0 }),
    reason: missing,
    record: 8,
  },
  { name: "an empty proof", alter: change("record", 2, { proof: [] }), reason: notInLog, record: 2 },
  { name: "a shorter proof", alter: changeProof((proof) => proof.slice(1)), reason: notInLog, record: 2 },
  {
    name: "a longer proof",
    alter: changeProof((proof) => [...proof, ...proof]),
    reason: notInLog,
    record: 2,
  },
  {
    name: "a proof in another order",
    alter: changeProof((proof) => proof.toReversed()),
    reason: notInLog,
    record: 2,
  },
  { name: "a proof with another hash", alter: changeProof(withOtherHash), reason: notInLog, record: 2 },
  { name: "the proof of another record", alter: useOtherProof, reason: notInLog, record: 2 },
];

const base = makeExport({ hasChain: false, firstBody: { type: "vault-created" } });

test("without an alteration the file is valid", async () => {
  expect(await verifyAuditExport(writeLines((await base).lines))).toMatchObject({ isValid: true });
});

test.for(alterations)("$name: the file is rejected", async (alteration) => {
  const { lines } = await base;
  expect(await verifyAltered(lines, alteration)).toMatchObject(rejectionOf(lines, alteration));
});

test("a record of another stream is rejected", async () => {
  const made = await base;
  const foreign = lineOf(await exportStream(made.logs.slice(0, 1), otherStream), "record", 0);
  const log = lineOf(made.lines, "log", 0);
  const header = lineOf(made.lines, "stream", 0);
  const lines = [header, log, foreign, { type: "end", records: 1 }];
  expect(await verifyAuditExport(writeLines(lines))).toMatchObject({
    record: nameOf(foreign),
    reason: notInLog,
  });
  const own = [{ ...header, stream: otherStream }, log, foreign, { type: "end", records: 1 }];
  expect(await verifyAuditExport(writeLines(own))).toMatchObject({ isValid: true });
});

test("a record is rejected when its leaf in the signed log skips a record of the stream", async () => {
  for (const previous of [null, 0]) {
    const { lines } = await makeExport({ hasChain: false, firstBody: { type: "vault-created" }, previous });
    const record = nameOf(lineOf(lines, "record", 2));
    expect(await verifyAuditExport(writeLines(lines))).toMatchObject({ record, reason: notContinued });
  }
});

function hashed(body: Json): Line {
  return { body, body_hash: createHash("sha256").update(canonicalJson(body)).digest("hex") };
}

function forgeErased(lines: readonly Line[]): ReturnType<Alter> {
  return change("record", 3, { ...hashed(forged), body: null })(lines);
}

function next(value: number): number {
  return value + 1;
}

function exchangeBodies(lines: readonly Line[]): ReturnType<Alter> {
  const [first, second] = [lineOf(lines, "record", 1), lineOf(lines, "record", 2)];
  return lines.map((line) => {
    if (line === first) return { ...first, body: second["body"] ?? null };
    return line === second ? { ...second, body: first["body"] ?? null } : line;
  });
}

/** Removes a record and lets the next one continue the one before. */
function hideSecond(lines: readonly Line[]): ReturnType<Alter> {
  const [first, second, third] = [0, 1, 2].map((at) => lineOf(lines, "record", at));
  return lines.flatMap((line) => {
    if (line === second) return [];
    return [line === third ? { ...line, previous: first?.["index"] ?? null } : line];
  });
}

function repeatFirst(lines: readonly Line[]): ReturnType<Alter> {
  return change("record", 3, (line) => [line, lineOf(lines, "record", 0)])(lines);
}

function exchangeRecords(lines: readonly Line[]): ReturnType<Alter> {
  const [first, second] = [lineOf(lines, "record", 4), lineOf(lines, "record", 5)];
  return lines.flatMap((line) => {
    if (line === first) return [second, first];
    return line === second ? [] : [line];
  });
}

/** The last record of the first log becomes the last one of the second log. */
function moveToNextLog(lines: readonly Line[]): ReturnType<Alter> {
  const moved = { ...lineOf(lines, "record", 7), index: 8 };
  const without = lines.filter((line) => line !== lineOf(lines, "record", 7));
  return without.flatMap((line) =>
    line === lineOf(lines, "record", 10) ? [line, { ...moved, previous: 1 }] : [line],
  );
}

function moveAlone(lines: readonly Line[]): ReturnType<Alter> {
  return [
    lineOf(lines, "stream", 0),
    lineOf(lines, "log", 1),
    lineOf(lines, "record", 0),
    { type: "end", records: 1 },
  ];
}

function changeProof(compute: (proof: readonly string[]) => readonly string[]): Alter {
  return changeMember("record", 2, ["proof", compute]);
}

function withOtherHash(proof: readonly string[]): readonly string[] {
  return [...proof.slice(0, -1), Buffer.alloc(32).toString("base64")];
}

function useOtherProof(lines: readonly Line[]): ReturnType<Alter> {
  return change("record", 2, { proof: lineOf(lines, "record", 1)["proof"] ?? [] })(lines);
}
