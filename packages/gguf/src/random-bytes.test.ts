import * as fc from "fast-check";
import { expect, test } from "vitest";
import { checkHeader } from "./inspect-model-file.ts";
import { ModelFileError } from "./model-file-error.ts";
import { readHeader } from "./reading/read-header.ts";
import { writeModel } from "./writing/write-model.ts";

const seed = 20_261_115;
const runs = { numRuns: 3000, seed };
const start = Buffer.from("GGUF\u0003\0\0\0", "latin1");
const architecture = { key: "general.architecture", type: "string", value: "llama" } as const;

test("random bytes are rejected with a ModelFileError, never with another error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4096 }), (bytes) => {
      expect(isRejected(bytes)).toBe(true);
    }),
    runs,
  );
});

test("random bytes after a valid start are read or rejected with a ModelFileError, never with another error", () => {
  let rejected = 0;
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 2048 }),
      fc.nat({ max: 4 }),
      fc.nat({ max: 4 }),
      (bytes, tensors, keys) => {
        const counts = Buffer.alloc(16);
        counts.writeBigUInt64LE(BigInt(tensors), 0);
        counts.writeBigUInt64LE(BigInt(keys), 8);
        if (isRejected(Buffer.concat([start, counts, bytes]))) rejected += 1;
      },
    ),
    runs,
  );
  expect(rejected).toBeGreaterThan(2900);
});

test("a prefix of any length of a valid header asks for more bytes", () => {
  const complete = writeModel({
    entries: [architecture, { key: "general.name", type: "string", value: "x".repeat(3000) }],
  });
  for (let length = 0; length < complete.length; length += 7) {
    expect(() => readHeader(complete.subarray(0, length), complete.length)).toThrow("The header continues");
  }
});

test("text and numbers of a valid file are read back unchanged", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 200 });
  fc.assert(
    fc.property(
      text,
      fc.array(text, { maxLength: 50 }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      (...generated) => {
        const [name, strings, number] = generated;
        const bytes = writeModel({
          entries: [
            architecture,
            { key: "general.name", type: "string", value: name },
            { key: "own.strings", type: "array", value: { of: "string", values: strings } },
            { key: "own.number", type: "uint64", value: number },
          ],
        });
        const { metadata } = readHeader(bytes, bytes.length);
        expect(metadata.get("general.name")?.value).toBe(name);
        expect(metadata.get("own.number")?.value).toBe(number);
        const read = metadata.get("own.strings")?.value;
        expect(typeof read === "object" && read.kind === "strings" ? [...read] : read).toEqual(strings);
      },
    ),
    { numRuns: 500, seed },
  );
});

function isRejected(bytes: Uint8Array): boolean {
  try {
    checkHeader(readHeader(bytes, bytes.length), "random.gguf");
    return false;
  } catch (error) {
    if (error instanceof ModelFileError) return true;
    throw error;
  }
}
