import { randomBytes } from "node:crypto";
import { assert, nat, oneof, pre, property, string, tuple, uint8Array } from "fast-check";
import { expect, test } from "vitest";
import { makeKey, openSealed, type Place, SealBroken, seal, unwrapKey, wrapKey } from "./seal.ts";

const place: Place = ["value", "vault", "secret", 3, 1];

test("what is sealed opens in its place and nowhere else", () => {
  const key = makeKey();
  const sealed = seal(Buffer.from("a value"), key, place);
  expect(openSealed(sealed, key, place).toString()).toBe("a value");
  const others: readonly Place[] = [
    ["note", "vault", "secret", 3, 1],
    ["value", "other", "secret", 3, 1],
    ["value", "vault", "secret", 2, 1],
    ["value", "vault", "secret", 3],
    ["value", "vault", "secret", "3", 1],
    ["value", "vaultsecret", "", 3, 1],
  ];
  for (const other of others) expect(() => openSealed(sealed, key, other)).toThrow(SealBroken);
  expect(() => openSealed(sealed, makeKey(), place)).toThrow(SealBroken);
});

test("a sealed value with any one bit changed, or any part missing, does not open", () => {
  const key = makeKey();
  const sealed = seal(Buffer.from("a value"), key, place);
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => openSealed(changed, key, place)).toThrow(SealBroken);
  }
  for (let length = 0; length < sealed.length; length += 1) {
    expect(() => openSealed(sealed.subarray(0, length), key, place)).toThrow(SealBroken);
  }
});

test("any bytes come back as they were, and are sealed differently each time", () => {
  const key = makeKey();
  assert(
    property(uint8Array({ maxLength: 4096 }), (value) => {
      const [first, second] = [seal(value, key, place), seal(value, key, place)];
      expect(first.equals(second)).toBe(false);
      expect(first).toHaveLength(value.length + 41);
      expect(openSealed(first, key, place).equals(value)).toBe(true);
    }),
  );
});

test("two places never have the same bytes, however their parts are cut", () => {
  const key = makeKey();
  const part = oneof(string(), nat());
  const places = tuple(string(), part, part);
  assert(
    property(places, places, (one, other) => {
      pre(JSON.stringify(one) !== JSON.stringify(other));
      const sealed = seal(Buffer.of(1), key, one);
      expect(() => openSealed(sealed, key, other)).toThrow(SealBroken);
    }),
  );
});

test("a wrapped key is the key again, and what was sealed before opens with it", () => {
  const [key, wrapping] = [makeKey(), makeKey()];
  const sealed = seal(Buffer.from("a value"), key, place);
  const wrapped = wrapKey(key, wrapping, ["data key", "vault", 1]);
  const again = unwrapKey(wrapped, wrapping, ["data key", "vault", 1]);
  expect(openSealed(sealed, again, place).toString()).toBe("a value");
  expect(() => unwrapKey(wrapped, wrapping, ["data key", "vault", 2])).toThrow(SealBroken);
  const short = seal(randomBytes(16), wrapping, ["data key", "vault", 1]);
  expect(() => unwrapKey(short, wrapping, ["data key", "vault", 1])).toThrow(SealBroken);
});
