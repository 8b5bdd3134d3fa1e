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

/** Eight bytes, big-endian, like PostgreSQL's int8send. */
export function wholeNumberBytes(value: bigint): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, value);
  return bytes;
}

/** Decodes hexadecimal; the dashes of a UUID are ignored. */
export function hexBytes(text: string): Bytes {
  const digits = text.replaceAll("-", "");
  return Uint8Array.from({ length: digits.length / 2 }, (_, index) =>
    Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16),
  );
}

export function base64Bytes(text: string): Bytes {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function hexText(bytes: Bytes): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function sha256(bytes: Bytes): Promise<string> {
  return hexText(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
