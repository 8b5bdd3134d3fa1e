import type { Bytes } from "../bytes.ts";

export function flipBit(bytes: Bytes, bit: number): Bytes {
  const flipped = Uint8Array.from(bytes);
  const byte = Math.floor(bit / 8);
  flipped[byte] = (flipped[byte] ?? 0) ^ (1 << (bit % 8));
  return flipped;
}

export function flipBitOfList(hashes: readonly Bytes[], bit: number): readonly Bytes[] {
  const bitsEach = 8 * (hashes[0]?.length ?? 0);
  return hashes.map((hash, index) =>
    index === Math.floor(bit / bitsEach) ? flipBit(hash, bit % bitsEach) : hash,
  );
}

/** Undefined when the changed bytes are no text any more. */
export function flipBitOfText(text: string, bit: number): string | undefined {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(flipBit(new TextEncoder().encode(text), bit));
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

export function bitsOf(text: string): number {
  return 8 * new TextEncoder().encode(text).length;
}

/**
 * Whether two notes differ in more than the surplus bits at the end of a signature's base64. Go ignores these bits; this
 * package rejects them.
 */
export function differsInBytes(note: string, other: string): boolean {
  return normalise(note) !== normalise(other);
}

function normalise(note: string): string {
  return note.replaceAll(/[A-Za-z0-9+/]{80,}={1,2}$/gmu, (encoded) =>
    Buffer.from(encoded, "base64").toString("base64"),
  );
}
