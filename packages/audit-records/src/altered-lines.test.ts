import { expect, test } from "vitest";
import { change, changeMember, changeText, remove, writeLines } from "./test/alter-lines.ts";
import { type Alteration, rejectionOf, verifyAltered } from "./test/alteration.ts";
import { makeExport, stream } from "./test/make-export.ts";
import { verifyAuditExport } from "./verify-export.ts";

const malformed = "not a valid export line";
const noExport = "not an export of an audit log";

const alterations: readonly Alteration[] = [
  { name: "an empty file", alter: () => [], reason: "the file is empty" },
  { name: "a file of empty lines", alter: () => ["", ""], reason: "the file is empty" },
  { name: "a missing header", alter: remove("stream", 0), reason: noExport },
  { name: "another file", alter: (lines) => ["<!doctype html>", ...lines], reason: noExport },
  { name: "another format", alter: change("stream", 0, { format: "keep-audit/3" }), reason: noExport },
  { name: "a stream that is no ID", alter: change("stream", 0, { stream: `${stream}0` }), reason: noExport },
  { name: "an account that is no ID", alter: change("stream", 0, { account: "me" }), reason: noExport },
  { name: "a key without a version", alter: changeText("stream", 0, withoutVersion), reason: noExport },
  {
    name: "a header that appears twice",
    alter: change("stream", 0, (line) => [line, line]),
    reason: "another stream begins here",
  },
  { name: "an unknown type of line", alter: change("log", 0, { type: "tree" }), reason: malformed },
  { name: "a line without a type", alter: changeText("log", 0, () => "{}"), reason: malformed },
  { name: "a line that is a list", alter: changeText("log", 0, (text) => `[${text}]`), reason: malformed },
  { name: "an additional member", alter: change("record", 1, { note: "x" }), reason: malformed },
  {
    name: "a missing member",
    alter: changeText("record", 1, (text) => text.replace(/"revision":\w+,/u, "")),
    reason: malformed,
  },
  {
    name: "a member that appears twice",
    alter: changeText("record", 1, (text) => text.replace(/"revision":\w+,/u, "$&$&")),
    reason: malformed,
  },
  { name: "a space at the end", alter: changeText("record", 1, (text) => `${text} `), reason: malformed },
  { name: "a carriage return", alter: changeText("end", -1, (text) => `${text}\r`), reason: malformed },
  {
    name: "members in another order",
    alter: changeText("end", -1, () => '{"type":"end","records":13}'),
    reason: malformed,
  },
  {
    name: "a number in another notation",
    alter: changeText("end", -1, (text) => text.replace("13", "1.3e1")),
    reason: malformed,
  },
  { name: "a negative index", alter: change("record", 1, { index: -1 }), reason: malformed },
  { name: "a number that is no integer", alter: change("record", 1, { number: 1.5 }), reason: malformed },
  { name: "a number that is not exact", alter: change("record", 1, { number: 2 ** 53 }), reason: malformed },
  { name: "a log that is text", alter: change("record", 1, { log: "1" }), reason: malformed },
  { name: "a subject that is no ID", alter: change("record", 1, { subject_id: "-" }), reason: malformed },
  { name: "a revision that is text", alter: change("record", 1, { revision: "3" }), reason: malformed },
  { name: "an origin that is no text", alter: change("log", 0, { origin: 1 }), reason: malformed },
  { name: "a note that is no text", alter: change("log", 0, { note: [] }), reason: malformed },
  { name: "an end that is text", alter: change("end", -1, { records: "13" }), reason: malformed },
  { name: "a negative previous index", alter: change("record", 1, { previous: -1 }), reason: malformed },
  {
    name: "an outcome with a line break",
    alter: change("record", 1, { outcome: "changed\n-" }),
    reason: malformed,
  },
  {
    name: "a hash in capitals",
    alter: changeMember("record", 1, ["body_hash", upperCase]),
    reason: malformed,
  },
  {
    name: "a proof hash of 31 bytes",
    alter: change("record", 1, { proof: [Buffer.alloc(31).toString("base64")] }),
    reason: malformed,
  },
  {
    name: "surplus bits in a proof hash",
    alter: change("record", 1, { proof: [`${"A".repeat(42)}B=`] }),
    reason: malformed,
  },
  {
    name: "a line after the end",
    alter: change("end", -1, (line) => [line, line]),
    reason: "unexpected line after the end of the export",
  },
  {
    name: "text after the end",
    alter: (lines) => [...lines, "", "x"],
    reason: "unexpected line after the end of the export",
  },
  { name: "a missing end", alter: remove("end", -1), reason: "the export is truncated" },
  { name: "a cut last line", alter: changeText("end", -1, (text) => text.slice(0, -3)), reason: malformed },
  { name: "a file cut after the header", alter: (lines) => lines.slice(0, 1), reason: "truncated" },
  { name: "an end with more records", alter: change("end", -1, { records: 14 }), reason: "record missing: " },
  { name: "an end with fewer records", alter: change("end", -1, { records: 12 }), reason: "extra record: " },
  {
    name: "a removed last record",
    alter: remove("record", -1),
    reason: "record missing: the export ends with 13 records, and has 12",
  },
];

function withoutVersion(text: string): string {
  return text.replace(',"version":1', "");
}

function upperCase(text: string): string {
  return text.replace(/[a-f]/u, (digit) => digit.toUpperCase());
}

const base = makeExport({ hasChain: false, firstBody: { type: "vault-created" } });

test("without an alteration the file is valid", async () => {
  expect(await verifyAuditExport(writeLines((await base).lines))).toMatchObject({ isValid: true });
});

test.for(alterations)("$name: the file is rejected", async (alteration) => {
  const { lines } = await base;
  expect(await verifyAltered(lines, alteration)).toMatchObject(rejectionOf(lines, alteration));
});
