import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { fingerprintOf, generateToken, hashToken, parseToken } from "./token-format.ts";

test("a token is its prefix and 49 letters and digits, and unique", () => {
  const tokens = Array.from({ length: 1000 }, generateToken);
  for (const token of tokens) expect(token).toMatch(/^sk-svc-[0-9A-Za-z]{49}$/u);
  expect(new Set(tokens).size).toBe(1000);
  for (const token of tokens) expect(parseToken(token)).toBe(token);
});

test("a token with one character changed, dropped, doubled or swapped is rejected", () => {
  const token = generateToken();
  const wrong = token.split("").flatMap((here, index) => {
    const [before, after] = [token.slice(0, index), token.slice(index + 1)];
    const changed = "0Az-_ ".split("").map((other) => before + other + after);
    const swapped = before + (after[0] ?? "") + here + after.slice(1);
    return [...changed, before + after, before + here + here + after, swapped];
  });
  const others = wrong.filter((text) => text !== token);
  expect(others.length).toBeGreaterThan(8 * token.length);
  expect(others.filter((text) => parseToken(text) !== undefined)).toEqual([]);
});

test.each(["", "sk-svc-", "sk-svc", "Bearer x", `sk-svc-${"a".repeat(49)}`])("%j is not a token", (text) => {
  expect(parseToken(text)).toBeUndefined();
});

test("a token with surrounding text is rejected", () => {
  for (const text of [` ${generateToken()}`, `${generateToken()}\n`, generateToken() + generateToken()]) {
    expect(parseToken(text)).toBeUndefined();
  }
});

test("all characters are equally likely", () => {
  const counts = new Map<string, number>();
  const total = 2000;
  for (let token = 0; token < total; token += 1) {
    for (const character of generateToken().slice(7, 50))
      counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const expected = (total * 43) / 62;
  expect(counts.size).toBe(62);
  for (const count of counts.values())
    expect(Math.abs(count - expected)).toBeLessThan(6 * Math.sqrt(expected));
});

test("the stored hash is the token's SHA-256, and the fingerprint derives from the hash", () => {
  const token = generateToken();
  const hash = createHash("sha256").update(token).digest();
  expect(hashToken(token).equals(hash)).toBe(true);
  expect(fingerprintOf(hash)).toBe(createHash("sha256").update(hash).digest("hex").slice(0, 8));
});
