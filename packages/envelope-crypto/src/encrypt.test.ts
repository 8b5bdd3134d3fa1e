import { randomBytes } from "node:crypto";
import { assert, nat, oneof, pre, property, string, tuple, uint8Array } from "fast-check";
import { expect, test } from "vitest";
import {
  type AssociatedData,
  decrypt,
  encrypt,
  generateKey,
  IntegrityError,
  unwrapKey,
  wrapKey,
} from "./encrypt.ts";

const associatedData: AssociatedData = ["value", "vault", "secret", 3, 1];

test("a ciphertext decrypts only with its own key and associated data", () => {
  const key = generateKey();
  const ciphertext = encrypt(Buffer.from("a value"), key, associatedData);
  expect(decrypt(ciphertext, key, associatedData).toString()).toBe("a value");
  const others: readonly AssociatedData[] = [
    ["note", "vault", "secret", 3, 1],
    ["value", "other", "secret", 3, 1],
    ["value", "vault", "secret", 2, 1],
    ["value", "vault", "secret", 3],
    ["value", "vault", "secret", "3", 1],
    ["value", "vaultsecret", "", 3, 1],
  ];
  for (const other of others) expect(() => decrypt(ciphertext, key, other)).toThrow(IntegrityError);
  expect(() => decrypt(ciphertext, generateKey(), associatedData)).toThrow(IntegrityError);
});

test("a ciphertext with any bit flipped, or truncated at any length, does not decrypt", () => {
  const key = generateKey();
  const ciphertext = encrypt(Buffer.from("a value"), key, associatedData);
  for (let bit = 0; bit < ciphertext.length * 8; bit += 1) {
    const changed = Buffer.from(ciphertext);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => decrypt(changed, key, associatedData)).toThrow(IntegrityError);
  }
  for (let length = 0; length < ciphertext.length; length += 1) {
    expect(() => decrypt(ciphertext.subarray(0, length), key, associatedData)).toThrow(IntegrityError);
  }
});

test("any bytes round-trip, and each encryption gives a different ciphertext", () => {
  const key = generateKey();
  assert(
    property(uint8Array({ maxLength: 4096 }), (value) => {
      const [first, second] = [encrypt(value, key, associatedData), encrypt(value, key, associatedData)];
      expect(first.equals(second)).toBe(false);
      expect(first).toHaveLength(value.length + 41);
      expect(decrypt(first, key, associatedData).equals(value)).toBe(true);
    }),
    { seed: 1 },
  );
});

test("different associated data never encodes to the same bytes", () => {
  const key = generateKey();
  const field = oneof(string(), nat());
  const fields = tuple(string(), field, field);
  assert(
    property(fields, fields, (one, other) => {
      pre(JSON.stringify(one) !== JSON.stringify(other));
      const ciphertext = encrypt(Buffer.of(1), key, one);
      expect(() => decrypt(ciphertext, key, other)).toThrow(IntegrityError);
    }),
    { seed: 2 },
  );
});

test("an unwrapped key decrypts what the original key encrypted", () => {
  const [key, wrapping] = [generateKey(), generateKey()];
  const ciphertext = encrypt(Buffer.from("a value"), key, associatedData);
  const wrapped = wrapKey(key, wrapping, ["data key", "vault", 1]);
  const unwrapped = unwrapKey(wrapped, wrapping, ["data key", "vault", 1]);
  expect(decrypt(ciphertext, unwrapped, associatedData).toString()).toBe("a value");
  expect(() => unwrapKey(wrapped, wrapping, ["data key", "vault", 2])).toThrow(IntegrityError);
  const short = encrypt(randomBytes(16), wrapping, ["data key", "vault", 1]);
  expect(() => unwrapKey(short, wrapping, ["data key", "vault", 1])).toThrow(IntegrityError);
});
