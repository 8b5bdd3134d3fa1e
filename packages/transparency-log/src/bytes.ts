/** Bytes in a buffer of their own, as Web Crypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

export function textBytes(text: string): Bytes {
  return encoder.encode(text);
}

export function joinBytes(chunks: readonly Bytes[]): Bytes {
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.length;
  }
  return joined;
}

export function equalBytes(left: Bytes, right: Bytes): boolean {
  if (left === right) return true;
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

export function base64Text(bytes: Bytes): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Undefined unless the text is the one encoding of its bytes: with padding, without spaces or surplus bits. */
export function base64Bytes(text: string): Bytes | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/u.test(text) || text.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return base64Text(bytes) === text ? bytes : undefined;
}

/** Eight bytes, big-endian. */
export function wholeNumberBytes(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

/** The number in the first eight bytes, big-endian; undefined if there are fewer, or if it is not a safe integer. */
export function wholeNumberAt(bytes: Bytes): number | undefined {
  if (bytes.length < 8) return undefined;
  const value = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0));
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A decimal number without leading zeros; undefined if it is something else, or not a safe integer. */
export function parseDecimal(text: string): number | undefined {
  if (!/^(?:0|[1-9]\d{0,15})$/u.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}
