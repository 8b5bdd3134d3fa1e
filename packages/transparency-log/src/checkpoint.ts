import { type Bytes, base64Bytes, base64Text, parseDecimal } from "./bytes.ts";
import { hashLength } from "./hashing.ts";
import { isCount } from "./tree-shape.ts";
import type { VerifierKey } from "./verifier-key.ts";
import { type VerifiedSignature, verifyNote } from "./verify-note.ts";

/** The tree of a log at one size (C2SP tlog-checkpoint). */
export type Checkpoint = {
  /** Identifies the log. */
  readonly origin: string;
  readonly size: number;
  readonly root: Bytes;
  readonly extensions: readonly string[];
};

/** The text of a note: origin, size, root and extensions, one per line. */
export function formatCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  const isValid =
    isCount(size) && root.length === hashLength && [origin, ...extensions].every((line) => isLine(line));
  if (!isValid) throw new RangeError("A checkpoint has a size, a SHA-256 root, and lines that are not empty");
  return [origin, String(size), base64Text(root), ...extensions].map((line) => `${line}\n`).join("");
}

/** Undefined unless the text is a checkpoint in every line. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  if (!text.endsWith("\n")) return undefined;
  const [origin = "", sizeText = "", rootText = "", ...extensions] = text.slice(0, -1).split("\n");
  const size = parseDecimal(sizeText);
  const root = base64Bytes(rootText);
  if (size === undefined || root?.length !== hashLength) return undefined;
  return [origin, ...extensions].every(isLine) ? { origin, size, root, extensions } : undefined;
}

export type TrustedLog = {
  readonly origin: string;
  /** Keys of the log and of witnesses. */
  readonly keys: readonly VerifierKey[];
};

export type VerifiedCheckpoint = Checkpoint & {
  /** How many of them a policy requires is decided by the caller. */
  readonly cosignatures: readonly VerifiedSignature[];
};

/** Undefined unless the note is a checkpoint of this log that one of the log's own keys signed. */
export async function verifyCheckpoint(
  note: string,
  { origin, keys }: TrustedLog,
): Promise<VerifiedCheckpoint | undefined> {
  const verified = await verifyNote(note, keys);
  if (verified === undefined) return undefined;
  const checkpoint = parseCheckpoint(verified.text);
  if (checkpoint?.origin !== origin) return undefined;
  const { cosignature: cosignatures = [], signature: signatures = [] } = Object.groupBy(
    verified.signatures,
    ({ key }) => key.type,
  );
  return signatures.length === 0 ? undefined : { ...checkpoint, cosignatures };
}

function isLine(text: string): boolean {
  return text !== "" && !text.includes("\n");
}
