import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { fingerprintOf, hashToken, makeToken, readToken } from "./token-format.ts";

test("a token has its prefix, 49 letters and digits, and is never made twice", () => {
  const tokens = Array.from({ length: 1000 }, makeToken);
  for (const token of tokens) expect(token).toMatch(/^sk-svc-[0-9A-Za-z]{49}$/u);
  expect(new Set(tokens).size).toBe(1000);
  for (const token of tokens) expect(readToken(token)).toBe(token);
});

test("a token with any one character changed, left out, doubled or swapped with its neighbour is none", () => {
  const token = makeToken();
  const wrong = token.split("").flatMap((here, place) => {
    const [before, after] = [token.slice(0, place), token.slice(place + 1)];
    const changed = "0Az-_ ".split("").map((other) => before + other + after);
    const swapped = before + (after[0] ?? "") + here + after.slice(1);
    return [...changed, before + after, before + here + here + after, swapped];
  });
  const others = wrong.filter((text) => text !== token);
  expect(others.length).toBeGreaterThan(8 * token.length);
  expect(others.filter((text) => readToken(text) !== undefined)).toEqual([]);
});

test.each(["", "sk-svc-", "sk-svc", "Bearer x", `sk-svc-${"a".repeat(49)}`])("%j is no token", (text) => {
  expect(readToken(text)).toBeUndefined();
});

test("a token with anything around it is none", () => {
  for (const text of [` ${makeToken()}`, `${makeToken()}\n`, makeToken() + makeToken()]) {
    expect(readToken(text)).toBeUndefined();
  }
});

test("every character is about as likely as every other", () => {
  const counts = new Map<string, number>();
  const made = 2000;
  for (let token = 0; token < made; token += 1) {
    for (const character of makeToken().slice(7, 50)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const expected = (made * 43) / 62;
  expect(counts.size).toBe(62);
  for (const count of counts.values())
    expect(Math.abs(count - expected)).toBeLessThan(6 * Math.sqrt(expected));
});

test("what is stored is the SHA-256 of the token, and its fingerprint is worked out from that alone", () => {
  const token = makeToken();
  const hash = createHash("sha256").update(token).digest();
  expect(hashToken(token).equals(hash)).toBe(true);
  expect(fingerprintOf(hash)).toBe(createHash("sha256").update(hash).digest("hex").slice(0, 8));
});
