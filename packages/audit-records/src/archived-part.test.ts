import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import { expect, test } from "vitest";
import { readStreamLine } from "./stream-line.ts";
import type { AuditVerification } from "./verification.ts";
import { verifyAuditExport } from "./verify-export.ts";

/** The documented export: a stream, a log of two leaves, both records, and the end. */
const [stream, log, first, second] = readExample();

function readExample(): readonly [string, string, string, string] {
  const page = readFileSync(new URL("../../../docs/keep/audit-export.md", import.meta.url), "utf8");
  const example = /```json\n(?<lines>[^`]+)```/u.exec(page)?.groups?.["lines"] ?? "";
  const [streamLine = "", logLine = "", firstRecord = "", secondRecord = ""] = example.split("\n");
  return [streamLine, logLine, firstRecord, secondRecord];
}

function archivedLog(archivedBefore: number): string {
  return addMembers(log, { archived_before: archivedBefore });
}

function addMembers(line: string, members: { readonly [name: string]: Json }): string {
  // Lines of the example are objects.
  return canonicalJson({ ...(JSON.parse(line) as { readonly [name: string]: Json }), ...members });
}

function verify(...lines: readonly string[]): Promise<AuditVerification> {
  const records = lines.filter((line) => line.includes('"proof"')).length;
  return verifyAuditExport([...lines, canonicalJson({ type: "end", records })]);
}

test("an export begins with the first record that is not archived", async () => {
  const expected = { isValid: true, records: 1, logs: [{ size: 2, records: 1, archivedBefore: 1 }] };
  expect(await verify(stream, archivedLog(1), second)).toMatchObject(expected);
  expect(await verify(stream, archivedLog(2))).toMatchObject({ isValid: true, records: 0 });
});

test("a missing first record is found unless the file says that it is archived", async () => {
  const record = "1/1769847301500000";
  const reason = "the stream's record before it is missing";
  expect(await verify(stream, log, second)).toMatchObject({ isValid: false, record, reason });
});

test("records of the archived part, and an archived part beyond the checkpoint, are found", async () => {
  const reason = "record is in the part of the log that is archived";
  expect(await verify(stream, archivedLog(1), first, second)).toMatchObject({ isValid: false, reason });
  expect(await verify(stream, archivedLog(2), second)).toMatchObject({ isValid: false, reason });
  expect(await verify(stream, archivedLog(3))).toMatchObject({
    isValid: false,
    reason: "more of the log is archived than its checkpoint has records",
  });
});

test("an archived part is written in one way only", async () => {
  const reason = "not a valid export line";
  for (const value of [0, -1, 1.5, "1", null])
    expect(await verify(stream, addMembers(log, { archived_before: value }), first, second)).toMatchObject({
      isValid: false,
      reason,
    });
});

test("a chain may be carried over by a record that is archived, and only then", async () => {
  const header = readStreamLine(stream);
  if (header?.type !== "stream") throw new Error("The example does not begin with a stream");
  const { account, stream: chain, keys } = header;
  const id = Buffer.from(chain.replaceAll("-", ""), "hex");
  const hash = createHash("sha256").update("keep-audit/1").update(id).digest("hex");
  const lines = [
    { type: "chain", format: "keep-audit/1", account, chain, keys },
    { type: "end", seq: 0, hash },
  ].map((line) => canonicalJson(line));
  expect(await verify(...lines, stream, archivedLog(1), second)).toMatchObject({ isValid: true, records: 1 });
  expect(await verify(...lines, stream, log, first, second)).toMatchObject({
    isValid: false,
    reason: "record missing: the stream does not continue the chain that was carried over",
  });
});
