import { readExportLine } from "@hearth-and-keep/audit-chain";
import { InclusionVerifier, type Sha256, webSha256 } from "@hearth-and-keep/transparency-log";
import {
  type CarriedOverChain,
  verifyCarriedOverChain,
  verifyCarryOver,
  verifySameStream,
} from "./carried-over-chain.ts";
import { InvalidExport, invalidRecord } from "./invalid-export.ts";
import { timestampOf } from "./record.ts";
import {
  type ExportedRecord,
  readStreamLine,
  type StreamExportLine,
  type StreamHeader,
} from "./stream-line.ts";
import type { AuditVerification, TrustedAuditMaterial } from "./verification.ts";
import { type LogCheckpoint, type LogTrust, readTrustedCheckpoints, verifyLog } from "./verify-log.ts";
import { type LogPosition, verifyRecord } from "./verify-record.ts";

/** Verifies the export of one stream, up to its first invalid line. */
export async function verifyAuditExport(
  lines: AsyncIterable<string> | Iterable<string>,
  trust: TrustedAuditMaterial = {},
  sha256: Sha256 = webSha256,
): Promise<AuditVerification> {
  const position: Position = { line: 0, stream: undefined };
  const texts = readTexts(lines, position);
  try {
    const sections = await readSections(texts, position, trust);
    if (sections.header === undefined) return describeChain(sections.chain);
    return await verifyStream(texts, beginStream(sections, trust), sha256);
  } catch (error) {
    if (!(error instanceof InvalidExport)) throw error;
    const { stream, line } = position;
    return { isValid: false, stream, record: error.record, line, reason: error.message };
  } finally {
    await texts.return();
  }
}

/** What is reported about an invalid file. */
type Position = { line: number; stream: string | undefined };

type Texts = AsyncGenerator<string, void, void>;

async function* readTexts(lines: AsyncIterable<string> | Iterable<string>, position: Position): Texts {
  for await (const text of lines) {
    position.line += 1;
    // Keep-alive chunk, written while the server read the next records.
    if (text !== "") yield text;
  }
}

/** A verified chain, the header of a stream, or both. */
type Sections =
  | { readonly header: StreamHeader; readonly chain: CarriedOverChain | undefined }
  | { readonly header: undefined; readonly chain: CarriedOverChain };

async function readSections(
  texts: Texts,
  position: Position,
  trust: TrustedAuditMaterial,
): Promise<Sections> {
  const first = await readNext(texts);
  if (first === undefined) throw new InvalidExport("the file is empty");
  const chainHeader = readExportLine(first);
  if (chainHeader?.type !== "chain") {
    const header = readHeader(first, "not an export of an audit log");
    position.stream = header.stream;
    return { header, chain: undefined };
  }
  position.stream = chainHeader.chain;
  const chain = await verifyCarriedOverChain(chainHeader, { texts, first }, trust);
  const next = await readNext(texts);
  if (next === undefined) return { header: undefined, chain };
  const header = readHeader(next, "unexpected line after the end of the chain");
  verifySameStream(chain, header);
  return { header, chain };
}

async function readNext(texts: Texts): Promise<string | undefined> {
  const { value } = await texts.next();
  return value ?? undefined;
}

function readHeader(text: string, reason: string): StreamHeader {
  const header = readStreamLine(text);
  if (header?.type !== "stream") throw new InvalidExport(reason);
  return header;
}

/** Everything that was read of the stream is verified. */
type StreamState = {
  readonly header: StreamHeader;
  readonly chain: CarriedOverChain | undefined;
  readonly trust: LogTrust;
  /** The last one is the log of the next record. */
  readonly logs: LogState[];
  records: number;
  erased: number;
  earliest: number;
  /** Whether a record continues the chain. */
  hasCarryOver: boolean;
  isComplete: boolean;
};

type LogState = LogCheckpoint &
  Pick<LogPosition, "verifier" | "decoded" | "archivedBefore"> & {
    records: number;
    lastIndex: number | null;
  };

function beginStream(
  { header, chain }: Extract<Sections, { readonly header: StreamHeader }>,
  trust: TrustedAuditMaterial,
): StreamState {
  return {
    header,
    chain,
    trust: {
      keys: trust.keys ?? header.keys,
      listedKeys: header.keys,
      checkpoints: readTrustedCheckpoints(trust.checkpoints ?? []),
    },
    logs: [],
    records: 0,
    erased: 0,
    earliest: Number.POSITIVE_INFINITY,
    hasCarryOver: false,
    isComplete: false,
  };
}

async function verifyStream(texts: Texts, state: StreamState, sha256: Sha256): Promise<AuditVerification> {
  for await (const text of texts) {
    if (state.isComplete) throw new InvalidExport("unexpected line after the end of the export");
    const line = readStreamLine(text);
    if (line === undefined) throw new InvalidExport("not a valid export line");
    await verifyLine(state, line, sha256);
  }
  if (!state.isComplete) throw new InvalidExport("the export is truncated");
  return describeStream(state);
}

async function verifyLine(state: StreamState, line: StreamExportLine, sha256: Sha256): Promise<void> {
  switch (line.type) {
    case "stream":
      throw new InvalidExport("another stream begins here");
    case "log":
      return addLog(state, line, sha256);
    case "record":
      return addRecord(state, line, sha256);
    case "end":
      return verifyEnd(state, line.records);
  }
}

async function addLog(
  state: StreamState,
  line: Extract<StreamExportLine, { readonly type: "log" }>,
  sha256: Sha256,
): Promise<void> {
  if (state.logs.some(({ origin }) => origin === line.origin))
    throw new InvalidExport("the same log begins again");
  const checkpoint = await verifyLog(line, state.trust);
  const { archived_before: archivedBefore } = line;
  if (archivedBefore !== undefined && archivedBefore > checkpoint.size)
    throw new InvalidExport("more of the log is archived than its checkpoint has records");
  const verifier = new InclusionVerifier(checkpoint, sha256);
  state.logs.push({
    ...checkpoint,
    archivedBefore,
    verifier,
    decoded: new Map(),
    records: 0,
    lastIndex: null,
  });
}

async function addRecord(state: StreamState, record: ExportedRecord, sha256: Sha256): Promise<void> {
  const { account, stream } = state.header;
  const log = state.logs.at(-1);
  if (log === undefined) throw invalidRecord(record, "record before the checkpoint of its log");
  await verifyRecord(record, { ...log, account, stream }, sha256);
  if (verifyCarryOver(record, state.chain)) state.hasCarryOver = true;
  if (record.body === null) state.erased += 1;
  state.earliest = Math.min(state.earliest, record.number);
  state.records += 1;
  log.records += 1;
  log.lastIndex = record.index;
}

function verifyEnd(state: StreamState, records: number): void {
  if (records > state.records)
    throw new InvalidExport(
      `record missing: the export ends with ${records} records, and has ${state.records}`,
    );
  if (records < state.records)
    throw new InvalidExport(
      `extra record: the export ends with ${records} records, and has ${state.records}`,
    );
  // The record that continues the chain is among the oldest of the stream, so it may be archived.
  const isArchived = state.logs.some(({ archivedBefore }) => archivedBefore !== undefined);
  if (state.chain !== undefined && !state.hasCarryOver && !isArchived)
    throw new InvalidExport("record missing: the stream does not continue the chain that was carried over");
  state.isComplete = true;
}

function describeStream({ header, chain, logs, ...state }: StreamState): AuditVerification {
  const times = [
    ...(chain?.since === undefined ? [] : [chain.since]),
    ...(state.records === 0 ? [] : [timestampOf(state.earliest)]),
  ];
  return {
    isValid: true,
    stream: header.stream,
    records: state.records,
    carriedOver: chain?.seq ?? 0,
    erased: (chain?.erased ?? 0) + state.erased,
    // Timestamps of this format sort like their times.
    since: times.toSorted()[0],
    logs: logs.map(({ origin, size, records, archivedBefore }) => ({
      origin,
      size,
      records,
      archivedBefore,
    })),
    trustedCheckpoints: logs.reduce((sum, { compared }) => sum + compared, 0),
  };
}

/** An export from before the first stream. */
function describeChain({ chain, seq, erased, since }: CarriedOverChain): AuditVerification {
  return {
    isValid: true,
    stream: chain,
    records: 0,
    carriedOver: seq,
    erased,
    since,
    logs: [],
    trustedCheckpoints: 0,
  };
}
