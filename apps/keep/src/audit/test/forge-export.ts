import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { canonicalJson } from "@hearth-and-keep/audit-chain";
import { leafText, recordText, type StreamExportLine } from "@hearth-and-keep/audit-records";
import { formatCheckpoint, formatNote, makeVerifierKey, signNote } from "@hearth-and-keep/transparency-log";
import type { ParsedExport } from "./tamper-export.ts";

/**
 * What whoever does not have the signing key can do at best: forges every record, builds a tree of them and signs it with
 * a key of their own. The tree is implemented independently of the verifier.
 */
export async function forgeExport({ lines }: ParsedExport): Promise<ParsedExport> {
  const header = lines.find((line) => line.type === "stream");
  const origin = lines.find((line) => line.type === "log")?.origin ?? "";
  if (header === undefined) throw new Error("The export has no header");
  const { account, stream } = header;
  const records = lines
    .filter((line) => line.type === "record")
    .map((record, index) => {
      const body = { type: "value-read", path: `/forged/${index}` };
      const bodyHash = sha256(canonicalJson(body)).toString("hex");
      const previous = index === 0 ? null : index - 1;
      return { ...record, index, previous, body, body_hash: bodyHash };
    });
  const leaves = records.map(({ log, number, previous, outcome, subject_id, revision, body_hash }) => {
    const fields = { log, number, account, stream, outcome, subject: subject_id, revision };
    const recordHash = sha256(recordText({ ...fields, bodyHash: body_hash })).toString("hex");
    return sha256(Buffer.concat([Buffer.of(0), Buffer.from(leafText({ previous, recordHash }))]));
  });
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const spki = publicKey.export({ type: "spki", format: "der" });
  const key = await makeVerifierKey({
    name: origin,
    type: "signature",
    publicKey: Uint8Array.from(spki.subarray(-32)),
  });
  const root = Uint8Array.from(rootOf(leaves));
  const text = formatCheckpoint({ origin, size: leaves.length, root, extensions: [] });
  const signature = await signNote(text, {
    key,
    sign: (message) => Uint8Array.from(sign(null, message, privateKey)),
  });
  const forged: readonly StreamExportLine[] = [
    { ...header, keys: [{ version: 1, public_key: spki.toString("base64") }] },
    { type: "log", origin, note: formatNote({ text, signatures: [signature] }) },
    ...records.map((record, index) => ({
      ...record,
      proof: proofOf(leaves, index).map((hash) => hash.toString("base64")),
    })),
    { type: "end", records: records.length },
  ];
  return { lines: forged };
}

function sha256(content: string | Buffer): Buffer {
  return createHash("sha256").update(content).digest();
}

/** RFC 6962, section 2.1. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  const [first = Buffer.alloc(0)] = leaves;
  if (leaves.length === 1) return first;
  const split = splitOf(leaves);
  return sha256(Buffer.concat([Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split))]));
}

/** RFC 6962, section 2.1.1. */
function proofOf(leaves: readonly Buffer[], index: number): readonly Buffer[] {
  if (leaves.length === 1) return [];
  const split = splitOf(leaves);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...proofOf(left, index), rootOf(right)]
    : [...proofOf(right, index - split), rootOf(left)];
}

/** The largest power of two below the number of leaves. */
function splitOf({ length }: readonly Buffer[]): number {
  return 2 ** (Math.ceil(Math.log2(length)) - 1);
}
