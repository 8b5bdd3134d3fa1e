import {
  type CheckpointKey,
  type ExportLine,
  type Json,
  readExportLine,
  verifyChain,
} from "@hearth-and-keep/audit-chain";
import { includesKey } from "./checkpoint-keys.ts";
import { InvalidExport, invalidRecord } from "./invalid-export.ts";
import type { ExportedRecord, StreamHeader } from "./stream-line.ts";
import type { TrustedAuditMaterial } from "./verification.ts";

/** A verified chain in the old format, which one record of the stream continues. */
export type CarriedOverChain = {
  readonly chain: string;
  readonly account: string;
  readonly keys: readonly CheckpointKey[];
  /** Number of its links. */
  readonly seq: number;
  readonly hash: string;
  readonly erased: number;
  /** Time of its first link. */
  readonly since: string | undefined;
};

export type ChainHeader = Extract<ExportLine, { readonly type: "chain" }>;

/** Verifies the lines after the header up to the end of the chain, and leaves the rest of the file unread. */
export async function verifyCarriedOverChain(
  header: ChainHeader,
  { texts, first }: { readonly texts: AsyncIterator<string>; readonly first: string },
  trust: TrustedAuditMaterial,
): Promise<CarriedOverChain> {
  const seen: SeenLines = { erased: 0, since: undefined, end: { seq: 0, hash: "" } };
  const result = await verifyChain(readChainLines({ texts, first }, seen), {
    keys: trust.keys,
    checkpoints: trust.chainCheckpoints ?? [],
  });
  if (!result.isValid) throw new InvalidExport(result.reason, result.seq?.toString());
  const { chain, account, keys } = header;
  return { chain, account, keys, ...seen.end, erased: seen.erased, since: seen.since };
}

type SeenLines = {
  erased: number;
  since: string | undefined;
  end: { readonly seq: number; readonly hash: string };
};

async function* readChainLines(
  { texts, first }: { readonly texts: AsyncIterator<string>; readonly first: string },
  seen: SeenLines,
): AsyncGenerator<string> {
  yield first;
  for (let next = await texts.next(); next.done !== true; next = await texts.next()) {
    yield next.value;
    // Reached only when the line is valid.
    const line = readExportLine(next.value);
    if (line?.type === "link") {
      seen.since ??= line.at;
      if (line.body === null) seen.erased += 1;
    }
    if (line?.type === "end") {
      seen.end = { seq: line.seq, hash: line.hash };
      return;
    }
  }
}

export function verifySameStream(chain: CarriedOverChain, header: StreamHeader): void {
  if (chain.chain !== header.stream)
    throw new InvalidExport("the chain that was carried over belongs to another stream");
  if (chain.account !== header.account)
    throw new InvalidExport("the chain that was carried over belongs to another account");
  if (!chain.keys.every((key) => includesKey(header.keys, key)))
    throw new InvalidExport("the chain that was carried over lists a key that the stream does not list");
}

/** Whether the record continues a chain; the chain must be the one in the file, unless it never had a record. */
export function verifyCarryOver(record: ExportedRecord, chain: CarriedOverChain | undefined): boolean {
  const { type, seq, hash } = membersOf(record.body);
  if (type !== "chain-carried-over") return false;
  if (chain === undefined) {
    if (seq !== 0) throw invalidRecord(record, "the chain that was carried over is missing");
  } else if (seq !== chain.seq || hash !== chain.hash) {
    throw invalidRecord(record, "the chain that was carried over does not end as recorded");
  }
  return true;
}

function membersOf(body: Json): { readonly [name: string]: Json | undefined } {
  return typeof body === "object" && body !== null ? Object.fromEntries(Object.entries(body)) : {};
}
