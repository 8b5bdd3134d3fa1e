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

test("random bytes are refused as a problem, never by another error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4096 }), (bytes) => {
      expect(isRefused(bytes)).toBe(true);
    }),
    runs,
  );
});

test("random bytes after a right beginning are refused or read, never another error", () => {
  let refused = 0;
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 2048 }),
      fc.nat({ max: 4 }),
      fc.nat({ max: 4 }),
      (bytes, tensors, keys) => {
        const counts = Buffer.alloc(16);
        counts.writeBigUInt64LE(BigInt(tensors), 0);
        counts.writeBigUInt64LE(BigInt(keys), 8);
        if (isRefused(Buffer.concat([start, counts, bytes]))) refused += 1;
      },
    ),
    runs,
  );
  expect(refused).toBeGreaterThan(2900);
});

test("any number of bytes at the start of a file that is longer is asked to be more, or refused", () => {
  const whole = writeModel({
    entries: [architecture, { key: "general.name", type: "string", value: "x".repeat(3000) }],
  });
  for (let length = 0; length < whole.length; length += 7) {
    expect(() => readHeader(whole.subarray(0, length), whole.length)).toThrow("The header goes on");
  }
});

test("whatever text and numbers a legal file carries, it is read back unchanged", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 200 });
  fc.assert(
    fc.property(
      text,
      fc.array(text, { maxLength: 50 }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      (...made) => {
        const [name, words, number] = made;
        const bytes = writeModel({
          entries: [
            architecture,
            { key: "general.name", type: "string", value: name },
            { key: "own.words", type: "array", value: { of: "string", values: words } },
            { key: "own.number", type: "uint64", value: number },
          ],
        });
        const { metadata } = readHeader(bytes, bytes.length);
        expect(metadata.get("general.name")?.value).toBe(name);
        expect(metadata.get("own.number")?.value).toBe(number);
        const read = metadata.get("own.words")?.value;
        expect(typeof read === "object" && read.kind === "strings" ? [...read] : read).toEqual(words);
      },
    ),
    { numRuns: 500, seed },
  );
});

function isRefused(bytes: Uint8Array): boolean {
  try {
    checkHeader(readHeader(bytes, bytes.length), "random.gguf");
    return false;
  } catch (problem) {
    if (problem instanceof ModelFileError) return true;
    throw problem;
  }
}
