import {
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { nonceBytes, openXaes, sealXaes, tagBytes } from "./xaes-256-gcm.ts";

/**
 * Where a value belongs, most general first: what it is, then the ids and numbers of its row. All of them are
 * authenticated and none is stored with the value, because the row has them.
 */
export type Place = readonly [purpose: string, ...parts: readonly (string | number)[]];

/** A value that does not open: another key, another place, or other bytes than were sealed. Nothing tells which. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";

  constructor() {
    super("Cannot open a sealed value: it is not what was sealed here");
  }
}

/** The first byte of every sealed value; a new algorithm gets a new one. */
const xaes = 1;
const keyBytes = 32;
const context = "keep/1";

/** One byte for the algorithm, the nonce, the ciphertext and the tag. */
export function seal(plaintext: Uint8Array, key: KeyObject, place: Place): Buffer {
  const nonce = randomBytes(nonceBytes);
  const sealed = sealXaes(plaintext, { key, nonce, associated: associate(place) });
  return Buffer.concat([Buffer.of(xaes), nonce, sealed]);
}

export function openSealed(sealed: Uint8Array, key: KeyObject, place: Place): Buffer {
  if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== xaes) throw new SealBroken();
  const nonce = sealed.subarray(1, 1 + nonceBytes);
  const plaintext = openXaes(sealed.subarray(1 + nonceBytes), { key, nonce, associated: associate(place) });
  if (plaintext === undefined) throw new SealBroken();
  return plaintext;
}

export function makeKey(): KeyObject {
  return takeKey(randomBytes(keyBytes));
}

/** A key sealed by another key. */
export function wrapKey(key: KeyObject, wrapping: KeyObject, place: Place): Buffer {
  const bytes = key.export();
  try {
    return seal(bytes, wrapping, place);
  } finally {
    bytes.fill(0);
  }
}

export function unwrapKey(wrapped: Uint8Array, wrapping: KeyObject, place: Place): KeyObject {
  const bytes = openSealed(wrapped, wrapping, place);
  if (bytes.length !== keyBytes) throw new SealBroken();
  return takeKey(bytes);
}

/** A key for marks, made from one that seals: neither gives the other away. */
export function deriveMarkKey(key: KeyObject): KeyObject {
  return takeKey(Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), `${context} marks`, keyBytes)));
}

/** 32 bytes that only who has the key can make for this place and its parts: what a row says, sealed without hiding it. */
export function markPlace(markKey: KeyObject, place: Place): Buffer {
  return createHmac("sha256", markKey).update(associate(place)).digest();
}

/** Throws when the mark is not the one of this place. */
export function checkMark(mark: Uint8Array, markKey: KeyObject, place: Place): void {
  const expected = markPlace(markKey, place);
  if (mark.length !== expected.length || !timingSafeEqual(mark, expected)) throw new SealBroken();
}

/** From here on the key's bytes are in native memory alone. */
function takeKey(bytes: Buffer): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/** Every part with its kind and its length before it, so that no two places have the same bytes. */
function associate(place: Place): Buffer {
  const parts = [context, ...place].flatMap((part) => {
    const bytes = Buffer.from(String(part), "utf8");
    const head = Buffer.alloc(5);
    head.write(typeof part === "number" ? "n" : "t");
    head.writeUInt32BE(bytes.length, 1);
    return [head, bytes];
  });
  return Buffer.concat(parts);
}
