import type { Json } from "@hearth-and-keep/audit-chain";
import { expect, test } from "vitest";
import { type Alter, change, changeMember, lineOf, remove, writeLines } from "./test/alter-lines.ts";
import { type Alteration, rejectionOf, verifyAltered } from "./test/alteration.ts";
import {
  account,
  exportStream,
  firstKey,
  type Line,
  makeExport,
  secondKey,
  stream,
  unknownKey,
} from "./test/make-export.ts";
import { verifyAuditExport } from "./verify-export.ts";

const keys = [firstKey.listed, secondKey.listed];
const base = makeExport({ hasChain: false, firstBody: { type: "vault-created" } });
const unsigned = "the checkpoint is not one of this log, or is not signed by a key of this log";
const unlisted = "the checkpoint is signed by a key that the export does not list";
const malformed = "a trusted checkpoint is not a signed checkpoint";

const alterations: readonly Alteration[] = [
  { name: "no keys", alter: change("stream", 0, { keys: [] }), reason: unsigned },
  { name: "an unknown key", alter: change("stream", 0, { keys: [unknownKey.listed] }), reason: unsigned },
  {
    name: "only the key of other logs",
    alter: change("stream", 0, { keys: keys.slice(1) }),
    reason: unsigned,
  },
  { name: "a key of another algorithm", alter: changeKeys((key) => replaceAt(key, 8)), reason: unsigned },
  { name: "a longer key", alter: changeKeys((key) => `${key.slice(0, -1)}A`), reason: unsigned },
  {
    name: "another version of a key",
    alter: change("stream", 0, { keys: renumbered() }),
    reason: unlisted,
    trust: { keys },
  },
  {
    name: "a key removed from the list",
    alter: change("stream", 0, { keys: [] }),
    reason: unlisted,
    trust: { keys },
  },
  {
    name: "a changed key in the list",
    alter: changeKeys((key) => replaceAt(key, 30)),
    reason: unlisted,
    trust: { keys },
  },
  { name: "another origin", alter: change("log", 1, { origin: "keep.example/audit/9" }), reason: unsigned },
  {
    name: "an origin with a space",
    alter: change("log", 1, { origin: "keep.example/audit /2" }),
    reason: unsigned,
  },
  { name: "an empty origin", alter: change("log", 1, { origin: "" }), reason: unsigned },
  { name: "the checkpoint of another log", alter: useOtherNote, reason: unsigned },
  {
    name: "a checkpoint with another size",
    alter: changeNote((note) => note.replace("\n11\n", "\n12\n")),
    reason: unsigned,
  },
  {
    name: "a checkpoint with another root",
    alter: changeNote((note) => replaceAt(note, 30)),
    reason: unsigned,
  },
  {
    name: "a checkpoint with another line",
    alter: changeNote((note) => note.replace("\n\n", "\nx\n\n")),
    reason: unsigned,
  },
  {
    name: "a checkpoint without a signature",
    alter: changeNote((note) => note.replace(/—.*\n/u, "")),
    reason: unsigned,
  },
  {
    name: "a checkpoint with another signature",
    alter: changeNote((note) => replaceAt(note, note.length - 9)),
    reason: unsigned,
  },
  { name: "an empty checkpoint", alter: change("log", 1, { note: "" }), reason: unsigned },
  {
    name: "the same log again",
    alter: change("log", 1, (line) => [line, line]),
    reason: "the same log begins again",
  },
  { name: "the first log again at the end", alter: repeatLog, reason: "the same log begins again" },
  {
    name: "a record before its log",
    alter: remove("log", 0),
    reason: "record before the checkpoint of its log",
    record: 0,
  },
  {
    name: "a removed second log",
    alter: remove("log", 1),
    reason: "record is not in the order of the log",
    record: 8,
  },
];

test("without an alteration the file is valid, also with trusted keys", async () => {
  const texts = writeLines((await base).lines);
  expect(await verifyAuditExport(texts)).toMatchObject({ isValid: true });
  expect(await verifyAuditExport(texts, { keys })).toMatchObject({ isValid: true });
  // A key of another algorithm is listed, but signed nothing.
  const listed = change("stream", 0, { keys: [...keys, { version: 3, public_key: "AAAA" }] })(
    (await base).lines,
  );
  expect(await verifyAuditExport(writeLines(listed), { keys })).toMatchObject({ isValid: true });
});

test.for(alterations)("$name: the file is rejected", async (alteration) => {
  const { lines } = await base;
  expect(await verifyAltered(lines, alteration)).toMatchObject(rejectionOf(lines, alteration));
});

test("a checkpoint is rejected when another key signed it in the log's name, or the log's key in another name", async () => {
  const { lines, logs } = await base;
  const [log] = logs;
  const notes = [
    await unknownKey.signText(log.checkpointText(), log.origin),
    await firstKey.signText(log.checkpointText(), "keep.example/audit/2"),
    await firstKey.signText("keep.example/audit/1\nall records\n", log.origin),
  ];
  for (const note of notes) {
    const altered = writeLines(change("log", 0, { note })(lines));
    expect(await verifyAuditExport(altered)).toMatchObject({ isValid: false, reason: unsigned });
  }
  // The file names the key with which it was signed, so only a key from elsewhere reveals it.
  const [forged = ""] = notes;
  const consistent = change("stream", 0, { keys: [unknownKey.listed] })([
    lineOf(lines, "stream", 0),
    { ...lineOf(lines, "log", 0), note: forged },
    { type: "end", records: 0 },
  ]);
  expect(await verifyAuditExport(writeLines(consistent))).toMatchObject({ isValid: true });
  expect(await verifyAuditExport(writeLines(consistent), { keys })).toMatchObject({ reason: unsigned });
});

test("a trusted checkpoint that contradicts the export is found", async () => {
  const { lines, logs } = await base;
  const other = await makeExport({ hasChain: false, firstBody: { type: "vault-deleted" } });
  const text = logs[1].checkpointText();
  other.logs[1].append({ account, stream, body: { type: "value-read" } });
  const cases = [
    ["", malformed],
    ["keep.example/audit/2\n11\n", malformed],
    [await secondKey.signText("keep.example/audit/2\nx\n", logs[1].origin), malformed],
    [
      await unknownKey.signText(text, logs[1].origin),
      "a trusted checkpoint is not signed by a key of this log",
    ],
    [
      await secondKey.signText(text, logs[0].origin),
      "a trusted checkpoint is not signed by a key of this log",
    ],
    [await other.logs[0].signCheckpoint(), "the log does not match a trusted checkpoint of the same size"],
    [
      await other.logs[1].signCheckpoint(),
      "the log was rolled back: a trusted checkpoint has 12 records, the export's only 11",
    ],
  ] as const;
  for (const [note, reason] of cases) {
    const valid = await logs[2].signCheckpoint();
    expect(await verifyAuditExport(writeLines(lines), { checkpoints: [valid, note] })).toMatchObject({
      isValid: false,
      record: undefined,
      reason,
    });
  }
  const elsewhere = "keep.example/audit/9";
  const foreign = await unknownKey.signText(text.replace(logs[1].origin, elsewhere), elsewhere);
  const checkpoints = [foreign, await logs[2].signCheckpoint()];
  expect(await verifyAuditExport(writeLines(lines), { checkpoints })).toMatchObject({
    trustedCheckpoints: 1,
  });
});

test("a rolled-back log is valid by itself and found with a checkpoint from before", async () => {
  const { logs } = await makeExport();
  const before = writeLines(await exportStream(logs.slice(1), stream));
  logs[1].append({ account, stream, body: { type: "value-read" } });
  const checkpoints = [await logs[1].signCheckpoint()];
  expect(await verifyAuditExport(before)).toMatchObject({ isValid: true });
  expect(await verifyAuditExport(before, { checkpoints })).toMatchObject({
    reason: expect.stringContaining("the log was rolled back"),
  });
  const after = writeLines(await exportStream(logs.slice(1), stream));
  expect(await verifyAuditExport(after, { checkpoints })).toMatchObject({ trustedCheckpoints: 1 });
});

/** Replaces one letter or digit by another. */
function replaceAt(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === "x" ? "y" : "x"}${text.slice(at + 1)}`;
}

function changeKeys(replace: (encoded: string) => string): Alter {
  return change("stream", 0, {
    keys: keys.map(({ version, public_key: encoded }) => ({ version, public_key: replace(encoded) })),
  });
}

function renumbered(): Json {
  return keys.map((key) => ({ ...key, version: key.version + 2 }));
}

function changeNote(replace: (note: string) => string): Alter {
  return changeMember("log", 1, ["note", replace]);
}

function useOtherNote(lines: readonly Line[]): ReturnType<Alter> {
  return change("log", 1, { note: lineOf(lines, "log", 0)["note"] ?? "" })(lines);
}

function repeatLog(lines: readonly Line[]): ReturnType<Alter> {
  return change("end", -1, (end) => [lineOf(lines, "log", 0), end])(lines);
}
