import { createCipheriv, createHash, createSecretKey } from "node:crypto";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import vectors from "./fixtures/published-vectors.json" with { type: "json" };
import { openXaes, type Sealing, sealXaes } from "./xaes-256-gcm.ts";

type Vector = (typeof vectors.xaes)[number];

function bytes(hexadecimal: string): Buffer {
  return Buffer.from(hexadecimal, "hex");
}

function sealing({ key, nonce, associated }: Omit<Vector, "sealed" | "plaintext">): Sealing {
  return { key: createSecretKey(bytes(key)), nonce: bytes(nonce), associated: bytes(associated) };
}

test("XAES-256-GCM seals and opens as its specification's vectors say", () => {
  for (const vector of vectors.xaes) {
    const sealed = sealXaes(bytes(vector.plaintext), sealing(vector));
    expect(sealed.toString("hex")).toBe(vector.sealed);
    expect(openXaes(sealed, sealing(vector))?.toString("hex")).toBe(vector.plaintext);
  }
  recordFigure({ claim: "keep 16", text: `${vectors.xaes.length} vectors of XAES-256-GCM exact` });
});

test("ten thousand pseudo-random messages of XAES-256-GCM add up to the published sum", () => {
  // Key, nonce, a length and so many bytes, and again for the associated ones, all from one stream.
  const stream = createHash("shake128", { outputLength: 10_000 * (32 + 24 + 2 * 256) }).digest();
  let at = 0;
  const take = (length: number): Buffer => stream.subarray(at, (at += length));
  const sum = createHash("shake128", { outputLength: 32 });
  for (let message = 0; message < 10_000; message += 1) {
    const [key, nonce] = [createSecretKey(take(32)), take(24)];
    const plaintext = take(take(1)[0] ?? 0);
    const associated = take(take(1)[0] ?? 0);
    sum.update(sealXaes(plaintext, { key, nonce, associated }));
  }
  expect(sum.digest("hex")).toBe(vectors.xaesOfTenThousand);
  recordFigure({ claim: "keep 16", text: "the sum of 10,000 messages of XAES-256-GCM exact" });
});

test("AES-256-GCM of this Node is the published one", () => {
  for (const vector of vectors.aesGcm) {
    const { key, nonce, associated } = sealing(vector);
    const cipher = createCipheriv("aes-256-gcm", key, nonce);
    cipher.setAAD(associated);
    const parts = [cipher.update(bytes(vector.plaintext)), cipher.final(), cipher.getAuthTag()];
    expect(Buffer.concat(parts).toString("hex")).toBe(vector.sealed);
  }
  recordFigure({ claim: "keep 16", text: `${vectors.aesGcm.length} vectors of AES-256-GCM exact` });
});
