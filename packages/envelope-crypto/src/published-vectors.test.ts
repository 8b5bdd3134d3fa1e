import { createCipheriv, createHash, createSecretKey } from "node:crypto";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import vectors from "./fixtures/published-vectors.json" with { type: "json" };
import { decryptXaes, encryptXaes, type XaesParameters } from "./xaes-256-gcm.ts";

type Vector = (typeof vectors.xaes)[number];

function bytes(hexadecimal: string): Buffer {
  return Buffer.from(hexadecimal, "hex");
}

function parametersOf({ key, nonce, associated }: Omit<Vector, "sealed" | "plaintext">): XaesParameters {
  return { key: createSecretKey(bytes(key)), nonce: bytes(nonce), associatedData: bytes(associated) };
}

test("XAES-256-GCM encrypts and decrypts the vectors of its specification", () => {
  for (const vector of vectors.xaes) {
    const ciphertext = encryptXaes(bytes(vector.plaintext), parametersOf(vector));
    expect(ciphertext.toString("hex")).toBe(vector.sealed);
    expect(decryptXaes(ciphertext, parametersOf(vector))?.toString("hex")).toBe(vector.plaintext);
  }
  recordFigure({ claim: "keep 16", text: `${vectors.xaes.length} vectors of XAES-256-GCM exact` });
});

test("10,000 pseudo-random XAES-256-GCM messages have the published checksum", () => {
  // One stream provides the key, the nonce, and a length with that many bytes for plaintext and associated data.
  const stream = createHash("shake128", { outputLength: 10_000 * (32 + 24 + 2 * 256) }).digest();
  let at = 0;
  const read = (length: number): Buffer => stream.subarray(at, (at += length));
  const sum = createHash("shake128", { outputLength: 32 });
  for (let message = 0; message < 10_000; message += 1) {
    const [key, nonce] = [createSecretKey(read(32)), read(24)];
    const plaintext = read(read(1)[0] ?? 0);
    const associatedData = read(read(1)[0] ?? 0);
    sum.update(encryptXaes(plaintext, { key, nonce, associatedData }));
  }
  expect(sum.digest("hex")).toBe(vectors.xaesOfTenThousand);
  recordFigure({ claim: "keep 16", text: "the sum of 10,000 messages of XAES-256-GCM exact" });
});

test("Node's AES-256-GCM matches the published vectors", () => {
  for (const vector of vectors.aesGcm) {
    const { key, nonce, associatedData } = parametersOf(vector);
    const cipher = createCipheriv("aes-256-gcm", key, nonce);
    cipher.setAAD(associatedData);
    const chunks = [cipher.update(bytes(vector.plaintext)), cipher.final(), cipher.getAuthTag()];
    expect(Buffer.concat(chunks).toString("hex")).toBe(vector.sealed);
  }
  recordFigure({ claim: "keep 16", text: `${vectors.aesGcm.length} vectors of AES-256-GCM exact` });
});
