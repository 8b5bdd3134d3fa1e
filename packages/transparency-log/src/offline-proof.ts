import { type Bytes, base64Bytes, base64Text, parseDecimal } from "./bytes.ts";
import { type TrustedLog, type VerifiedCheckpoint, verifyCheckpoint } from "./checkpoint.ts";
import { hashLength, type Sha256, webSha256 } from "./hashing.ts";
import { verifyInclusion } from "./verify-proofs.ts";

/** Everything that is needed to verify one record without the log, as one text (C2SP tlog-proof). */
export type OfflineProof = {
  readonly index: number;
  readonly proof: readonly Bytes[];
  /** The checkpoint with its signatures. */
  readonly note: string;
  /** Not authenticated. */
  readonly extra?: Bytes | undefined;
};

const format = "c2sp.org/tlog-proof@v1";
const maxCharacters = 1024 * 1024;

export function formatOfflineProof({ index, proof, note, extra }: OfflineProof): string {
  const lines = [
    format,
    ...(extra === undefined ? [] : [`extra ${base64Text(extra)}`]),
    `index ${index}`,
    ...proof.map(base64Text),
  ];
  return `${lines.join("\n")}\n\n${note}`;
}

/** Undefined unless every line is well-formed; says nothing about the signatures and the proof. */
export function parseOfflineProof(text: string): OfflineProof | undefined {
  if (text.length > maxCharacters) return undefined;
  const blankLine = text.indexOf("\n\n");
  const [first, ...lines] = text.slice(0, Math.max(blankLine, 0)).split("\n");
  if (first !== format) return undefined;
  const extra = lines[0]?.startsWith("extra ") === true ? base64Bytes(lines.shift()?.slice(6) ?? "") : null;
  const indexLine = lines.shift() ?? "";
  const index = indexLine.startsWith("index ") ? parseDecimal(indexLine.slice(6)) : undefined;
  const proof = lines.flatMap((line) => {
    const hash = base64Bytes(line);
    return hash?.length === hashLength ? [hash] : [];
  });
  if (extra === undefined || index === undefined || proof.length !== lines.length) return undefined;
  return { index, proof, note: text.slice(blankLine + 2), extra: extra ?? undefined };
}

export type OfflineClaim = { readonly proof: OfflineProof; readonly leafHash: Bytes };

/** The checkpoint that contains the leaf; undefined unless the log signed it and the proof is valid. */
export async function verifyOfflineProof(
  { proof: { index, proof, note }, leafHash }: OfflineClaim,
  log: TrustedLog,
  sha256: Sha256 = webSha256,
): Promise<VerifiedCheckpoint | undefined> {
  const checkpoint = await verifyCheckpoint(note, log);
  if (checkpoint === undefined) return undefined;
  const { size, root } = checkpoint;
  return (await verifyInclusion({ leafHash, index, size, root, proof }, sha256)) ? checkpoint : undefined;
}
