import { canonicalJson, hexText } from "@hearth-and-keep/audit-chain";
import {
  type Bytes,
  base64Bytes,
  hashLeaf,
  type InclusionVerifier,
  type Sha256,
  textBytes,
} from "@hearth-and-keep/transparency-log";
import { invalidRecord } from "./invalid-export.ts";
import { leafText, recordText } from "./record.ts";
import type { ExportedRecord } from "./stream-line.ts";

export type LogPosition = {
  readonly size: number;
  readonly verifier: InclusionVerifier;
  /** Hashes of the last proof, of which the next one repeats most. */
  readonly decoded: Map<string, Bytes>;
  readonly account: string;
  readonly stream: string;
  /** Index of the stream's last verified leaf in this log; null before its first one. */
  readonly lastIndex: number | null;
  /** The leaves before it are archived. */
  readonly archivedBefore?: number | undefined;
};

/** Verifies that the record is the stream's next leaf in the log. */
export async function verifyRecord(
  record: ExportedRecord,
  position: LogPosition,
  sha256: Sha256,
): Promise<void> {
  verifyOrder(record, position);
  const hashText = async (text: string): Promise<string> => hexText(await sha256(textBytes(text)));
  if (record.body !== null && (await hashText(canonicalJson(record.body))) !== record.body_hash)
    throw invalidRecord(record, "content does not match what was recorded");
  const { log, number, outcome, subject_id: subject, revision, body_hash: bodyHash } = record;
  const { account, stream, verifier } = position;
  const recordHash = await hashText(
    recordText({ log, number, account, stream, outcome, subject, revision, bodyHash }),
  );
  const leaf = textBytes(leafText({ previous: record.previous, recordHash }));
  const leafHash = await hashLeaf(leaf, sha256);
  const proof = decodeProof(record.proof, position.decoded);
  if (!(await verifier.verify({ leafHash, index: record.index, proof })))
    throw invalidRecord(record, "record is not in the log: its proof does not match");
}

function verifyOrder(record: ExportedRecord, { size, lastIndex, archivedBefore = 0 }: LogPosition): void {
  const { index, previous } = record;
  if (index < archivedBefore)
    throw invalidRecord(record, "record is in the part of the log that is archived");
  if (index >= size) throw invalidRecord(record, "record is beyond the end of the log");
  if (index === lastIndex) throw invalidRecord(record, "duplicate record");
  if (lastIndex !== null && index < lastIndex)
    throw invalidRecord(record, "record is not in the order of the log");
  if (previous === lastIndex) return;
  // The first record after the archived part continues one that is not in the file.
  if (lastIndex === null && previous !== null && previous < archivedBefore) return;
  throw invalidRecord(
    record,
    previous !== null && previous > (lastIndex ?? -1)
      ? "the stream's record before it is missing"
      : "record does not continue the stream's record before it",
  );
}

function decodeProof(texts: readonly string[], decoded: Map<string, Bytes>): readonly Bytes[] {
  const proof = texts.map((text) => decoded.get(text) ?? base64Bytes(text) ?? new Uint8Array());
  decoded.clear();
  for (const [at, hash] of proof.entries()) decoded.set(texts[at] ?? "", hash);
  return proof;
}
