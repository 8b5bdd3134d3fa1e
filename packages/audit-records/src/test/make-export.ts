/**
 * @module
 * Valid exports of streams, and ways to alter them: logs with several streams in memory, signed with new keys, and a
 * chain in the old format.
 * Imported only by tests of this package.
 */
import { type CheckpointKey, chainFormat, type ExportLine, type Json } from "@hearth-and-keep/audit-chain";
import { makeLinks } from "@hearth-and-keep/audit-chain/testing";
import { recordFormat } from "../record.ts";
import type { StreamExportLine } from "../stream-line.ts";
import { makeTestKey, type TestKey } from "./test-key.ts";
import { TestLog } from "./test-log.ts";

/** A line of an export, or of one that has been altered. */
export type Line = { readonly [name: string]: Json };

export type TestExport = {
  readonly lines: readonly Line[];
  readonly keys: readonly CheckpointKey[];
  readonly logs: readonly [TestLog, TestLog, TestLog];
};

export const account = "0190a0b0-0000-7000-8000-000000000001";
export const stream = "0190a0b0-0000-7000-8000-000000000002";
export const otherStream = "0190a0b0-0000-7000-8000-000000000003";
export const secret = "0190a0b0-0000-7000-8000-000000000004";

export const firstKey = makeTestKey(1);
export const secondKey = makeTestKey(2);
export const unknownKey = makeTestKey(1);

/** Links of the chain that is carried over. */
export const chainLength = 4;

type ExportOptions = {
  /** Whether the file begins with a chain; it does unless this is false. */
  readonly hasChain?: boolean;
  /** Body of the first record, in place of the one that continues the chain. */
  readonly firstBody?: Json;
  /** What the third record's leaf names as the previous one, in place of the truth. */
  readonly previous?: number | null;
};

/** Thirteen records in three logs. The first log has 24 leaves, the second one 11, the third one 300. */
export async function makeExport(options: ExportOptions = {}): Promise<TestExport> {
  const chain = await makeChain(chainLength);
  const end = chain.at(-1);
  const carryOver = { type: "chain-carried-over", seq: chainLength, hash: end?.["hash"] ?? "", by: "keep" };
  const logs = [new TestLog(1, firstKey), new TestLog(2, secondKey), new TestLog(4, firstKey)] as const;
  fillFirst(logs[0], { firstBody: carryOver, ...options });
  fillSecond(logs[1]);
  fillThird(logs[2]);
  const keys = [firstKey.listed, secondKey.listed];
  const section = await exportStream(logs, stream);
  return { lines: [...(options.hasChain === false ? [] : chain), ...section], keys, logs };
}

/** Every third leaf is the stream's; one record is erased. */
function fillFirst(log: TestLog, { firstBody = null, previous }: ExportOptions): void {
  for (let index = 0; index < 24; index += 1) {
    const body = { type: "secret-written", path: `/größe/${index}`, by: "user" };
    if (index % 3 !== 0) log.append({ account, stream: index % 3 === 1 ? otherStream : account, body });
    else if (index === 0) log.append({ account, stream, body: firstBody });
    else if (index === 6 && previous !== undefined) log.append({ account, stream, body, previous });
    else log.append({ account, stream, body, subject: secret, revision: index, isErased: index === 9 });
  }
}

/** Leaves 1 and 2 are records of log 3, whose node does not exist any more. */
function fillSecond(log: TestLog): void {
  for (let index = 0; index < 11; index += 1) {
    const body = { type: "value-read", path: `/a/${index}` };
    if (index === 1 || index === 2) log.append({ account, stream, body, log: 3 });
    else log.append({ account, stream: index === 7 ? stream : otherStream, body });
  }
}

/** More leaves than a tile has, of which the stream has two. */
function fillThird(log: TestLog): void {
  for (let index = 0; index < 300; index += 1) {
    const isOwn = index === 5 || index === 299;
    log.append({ account, stream: isOwn ? stream : account, body: { type: "value-read", index } });
  }
}

/** The lines of one stream in these logs. */
export async function exportStream(logs: readonly TestLog[], exported: string): Promise<readonly Line[]> {
  const keys = [firstKey.listed, secondKey.listed];
  const lines: StreamExportLine[] = [
    { type: "stream", format: recordFormat, account, stream: exported, keys },
  ];
  for (const log of logs) {
    lines.push({ type: "log", origin: log.origin, note: await log.signCheckpoint() });
    for (const record of await log.exportRecords(exported)) lines.push({ type: "record", ...record });
  }
  return [...lines, { type: "end", records: lines.filter(({ type }) => type === "record").length }];
}

/** The export of a chain with a checkpoint at its last link. */
export async function makeChain(length: number, key: TestKey = firstKey): Promise<readonly Line[]> {
  const links = await makeLinks(stream, length);
  const last = links.at(-1);
  const [seq, hash] = [last?.seq ?? 0, last?.hash ?? ""];
  const lines: readonly ExportLine[] = [
    { type: "chain", format: chainFormat, account, chain: stream, keys: [key.listed] },
    ...links.map((link) => ({ type: "link", ...link }) as const),
    { type: "checkpoint", ...key.signChain({ chain: stream, seq, hash }) },
    { type: "end", seq, hash },
  ];
  return lines;
}
