/** Bytes as hashing wants them: not shared with anybody. */
export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

export function textBytes(text: string): Bytes {
  return encoder.encode(text);
}

export function joinBytes(parts: readonly Bytes[]): Bytes {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let place = 0;
  for (const part of parts) {
    joined.set(part, place);
    place += part.length;
  }
  return joined;
}

/** Eight bytes, most significant first, as PostgreSQL's int8send writes them. */
export function wholeNumberBytes(value: bigint): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, value);
  return bytes;
}

/** Digits in pairs; an id's dashes are left out. */
export function hexBytes(text: string): Bytes {
  const digits = text.replaceAll("-", "");
  return Uint8Array.from({ length: digits.length / 2 }, (_, index) =>
    Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16),
  );
}

export function base64Bytes(text: string): Bytes {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export async function sha256(bytes: Bytes): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
