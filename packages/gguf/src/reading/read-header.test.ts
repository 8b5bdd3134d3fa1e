import { describe, expect, test } from "vitest";
import { ModelFileError } from "../model-file-error.ts";
import { type Entry, type EntryValue, type WrittenModel, writeModel } from "../writing/write-model.ts";
import { MoreBytesNeeded, maxHeaderBytes } from "./byte-cursor.ts";
import { readHeader } from "./read-header.ts";

const architecture: Entry = { key: "general.architecture", type: "string", value: "llama" };
const floats = (count: number) => new Uint8Array(count * 4);
const one = { name: "one", shape: [8], offset: 0 };
const two = { name: "two", shape: [4, 2], offset: 32 };

describe("start of the file", () => {
  test("versions 2 and 3 are read, all others are rejected", () => {
    expect(kindOf(writeModel({ version: 2, entries: [architecture] }))).toBe("accepted");
    expect(kindOf(writeModel({ version: 3, entries: [architecture] }))).toBe("accepted");
    for (const version of [0, 1, 4, 255]) {
      expect(kindOf(writeModel({ version, entries: [architecture] }))).toBe("version-unsupported");
    }
  });

  test("a big-endian file is rejected as such", () => {
    expect(kindOf(writeModel({ version: 0x0300_0000 }))).toBe("big-endian");
  });

  test("a file of another format is rejected by its magic bytes", () => {
    expect(kindOf(Buffer.from("GGJT with some more bytes behind"))).toBe("not-gguf");
  });

  test("a file of four bytes is rejected", () => {
    expect(kindOf(Buffer.from("GGUF"))).toBe("cut-short");
  });

  test("counts beyond what the file can contain are rejected before anything is allocated", () => {
    for (const offset of [8, 16]) {
      for (const count of [100n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]) {
        const bytes = writeModel({ entries: [architecture], tensors: [one], content: floats(8) });
        expect(kindOf(bytes)).toBe("accepted");
        bytes.writeBigUInt64LE(count, offset);
        expect(kindOf(bytes)).toBe("count-impossible");
      }
    }
  });

  test("16,384 keys are read, one more is rejected", () => {
    expect(kindOf(writeModel({ entries: manyEntries(16_384) }))).toBe("accepted");
    expect(kindOf(writeModel({ entries: manyEntries(16_385) }))).toBe("too-large");
  });
});

describe("keys and values", () => {
  test("a key that appears twice is rejected, two different keys are not", () => {
    expect(kindOf(withEntries(architecture, { ...architecture, key: "general.name" }))).toBe("accepted");
    expect(kindOf(withEntries(architecture, architecture))).toBe("key-repeated");
  });

  test("a key is not empty, has no control characters and is valid UTF-8", () => {
    expect(kindOf(withEntries({ ...architecture, key: "größe" }))).toBe("accepted");
    expect(kindOf(withEntries({ ...architecture, key: "" }))).toBe("key-invalid");
    expect(kindOf(withEntries({ ...architecture, key: "general\0name" }))).toBe("key-invalid");
    const broken = withEntries({ ...architecture, key: "abc" });
    broken[32] = 0xff;
    expect(kindOf(broken)).toBe("key-invalid");
  });

  test("a boolean is 0 or 1", () => {
    for (const value of [0, 1])
      expect(kindOf(withEntries({ key: "k", type: "bool", value }))).toBe("accepted");
    expect(kindOf(withEntries({ key: "k", type: "bool", value: 2 }))).toBe("value-invalid");
    expect(kindOf(withEntries({ key: "k", type: "array", value: { of: "bool", values: [0, 1, 3] } }))).toBe(
      "value-invalid",
    );
  });

  test("arrays nest four deep and no deeper", () => {
    const nest = (depth: number): EntryValue =>
      depth === 1 ? { of: "uint8", values: [7] } : { of: "array", values: [nest(depth - 1)] };
    expect(kindOf(withEntries({ key: "k", type: "array", value: nest(4) }))).toBe("accepted");
    expect(kindOf(withEntries({ key: "k", type: "array", value: nest(5) }))).toBe("nesting-too-deep");
  });

  test("10,000 inner arrays are read, one more is rejected", () => {
    expect(kindOf(withEntries(innerLists(10_000)))).toBe("accepted");
    expect(kindOf(withEntries(innerLists(10_001)))).toBe("too-large");
  });

  test("an unknown value type is rejected", () => {
    const bytes = withEntries({ key: "k", type: "uint8", value: 1 });
    bytes.writeUInt32LE(13, 24 + 8 + 1);
    expect(kindOf(bytes)).toBe("value-type-unknown");
  });

  test("values are read back unchanged, 64-bit integers without rounding", () => {
    const { metadata } = readComplete(
      withEntries(
        { key: "huge", type: "uint64", value: 2n ** 64n - 1n },
        { key: "low", type: "int32", value: -5 },
        { key: "half", type: "float32", value: 0.5 },
        { key: "strings", type: "array", value: { of: "string", values: ["", "two", "größe"] } },
        { key: "numbers", type: "array", value: { of: "int16", values: [-1, 2] } },
      ),
    );
    expect(metadata.get("huge")?.value).toBe(2n ** 64n - 1n);
    expect(metadata.get("low")?.value).toBe(-5);
    expect(metadata.get("half")?.value).toBe(0.5);
    expect(metadata.get("numbers")?.value).toMatchObject({ type: "int16", values: Int16Array.of(-1, 2) });
    const strings = metadata.get("strings")?.value;
    if (typeof strings !== "object" || strings.kind !== "strings")
      throw new Error("Expected a list of strings");
    expect([...strings]).toEqual(["", "two", "größe"]);
    expect([strings.at(2), strings.at(3), strings.has("two"), strings.has("tw")]).toEqual([
      "größe",
      undefined,
      true,
      false,
    ]);
  });

  test("an incomplete header asks for more bytes, up to 128 MiB", () => {
    const bytes = withEntries({ key: "k", type: "string", value: "x".repeat(5000) });
    expect(() => readHeader(bytes.subarray(0, 1000), bytes.length)).toThrow(MoreBytesNeeded);
    const list = withEntries({ key: "k", type: "array", value: { of: "uint8", values: [1, 2, 3] } });
    list.writeBigUInt64LE(BigInt(maxHeaderBytes), 24 + 9 + 4 + 4);
    expect(kindOf(list, maxHeaderBytes * 2)).toBe("too-large");
  });
});

describe("alignment", () => {
  test("a power of two up to 65,536 as uint32 is accepted, anything else is rejected", () => {
    for (const value of [1, 8, 32, 4096, 65_536]) expect(kindOfAligned(value)).toBe("accepted");
    for (const value of [3, 24, 131_072]) expect(kindOfAligned(value)).toBe("alignment-invalid");
    expect(kindOf(withEntries({ key: "general.alignment", type: "uint32", value: 0 }))).toBe(
      "alignment-invalid",
    );
    for (const type of ["uint16", "uint64"] as const)
      expect(kindOfAligned(32, type)).toBe("alignment-invalid");
  });
});

describe("tensors", () => {
  test("two consecutive tensors are accepted", () => {
    expect(kindOf(withTensors({ tensors: [one, two], content: floats(16) }))).toBe("accepted");
  });

  test("a name of 63 bytes is accepted, a longer, empty or repeated one is rejected", () => {
    const named = (name: string) => kindOf(withTensors({ tensors: [{ ...one, name }], content: floats(8) }));
    expect(named("n".repeat(63))).toBe("accepted");
    expect(named("n".repeat(64))).toBe("too-large");
    expect(named("")).toBe("tensor-name-invalid");
    expect(kindOf(withTensors({ tensors: [one, { ...two, name: "one" }], content: floats(16) }))).toBe(
      "tensor-repeated",
    );
  });

  test("one to four non-zero dimensions are accepted, all others are rejected", () => {
    for (const shape of [[8], [4, 2], [2, 2, 2], [2, 2, 2, 1]]) expect(kindOfShape(shape)).toBe("accepted");
    for (const shape of [[], [8, 1, 1, 1, 1], [8, 0]])
      expect(kindOfShape(shape)).toBe("tensor-shape-invalid");
  });

  test("dimensions whose product exceeds 63 bits are rejected, even if it wraps around", () => {
    for (const shape of [
      [2n ** 32n, 2n ** 32n],
      [2n ** 63n, 2n],
      [2n ** 16n, 2n ** 16n, 2n ** 16n, 2n ** 16n],
    ]) {
      expect(kindOf(withTensors({ tensors: [{ ...one, shape }], content: floats(8) }))).toBe(
        "tensor-shape-invalid",
      );
    }
  });

  test("the first dimension is a multiple of the type's block size", () => {
    expect(kindOfType(2, 32)).toBe("accepted");
    expect(kindOfType(2, 33)).toBe("tensor-shape-invalid");
  });

  test("unknown and retired types are rejected", () => {
    for (const type of [4, 5, 31, 36, 43, 2 ** 32 - 1]) {
      expect(kindOf(withTensors({ tensors: [{ ...one, type }], content: floats(8) }))).toBe(
        "tensor-type-unknown",
      );
    }
  });

  test("a tensor that does not start where the previous one ends is rejected", () => {
    for (const offset of [0, 16, 64]) {
      expect(kindOf(withTensors({ tensors: [one, { ...two, offset }], content: floats(64) }))).toBe(
        "tensor-misplaced",
      );
    }
  });

  test("a tensor that reaches past the end of the file is rejected", () => {
    expect(kindOf(withTensors({ tensors: [one, two], content: floats(15) }))).toBe("tensor-outside");
    expect(kindOf(withTensors({ tensors: [{ ...one, offset: 2n ** 64n - 32n }], content: floats(8) }))).toBe(
      "tensor-outside",
    );
    expect(kindOf(withTensors({ tensors: [one] }))).toBe("tensor-outside");
  });

  test("padding after the last tensor is accepted, extra bytes are rejected", () => {
    const five = { ...one, shape: [5] };
    expect(kindOf(withTensors({ tensors: [five], content: new Uint8Array(20) }))).toBe("accepted");
    expect(kindOf(withTensors({ tensors: [five], content: new Uint8Array(32) }))).toBe("accepted");
    expect(kindOf(withTensors({ tensors: [five], content: new Uint8Array(33) }))).toBe("trailing-bytes");
  });

  test("the padding between the header and the tensors is zero", () => {
    const bytes = withTensors({ tensors: [one], content: floats(8) });
    bytes[bytes.length - 33] = 1;
    expect(kindOf(bytes)).toBe("padding-invalid");
  });

  test("an error includes the tensor, the byte offset and the reason", () => {
    const bytes = withTensors({ tensors: [one, { ...two, offset: 64 }], content: floats(64) });
    expect(() => readComplete(bytes)).toThrow('The tensor "two" starts at offset 64, expected 32');
    const location = { tensor: "two", offset: bytes.length - 256 + 64 };
    expect(() => readComplete(bytes)).toThrow(
      expect.objectContaining({ detail: expect.objectContaining({ location }) }),
    );
  });
});

function manyEntries(length: number): readonly Entry[] {
  return Array.from({ length }, (_, index): Entry => ({ key: `k${index}`, type: "uint8", value: 1 }));
}

function innerLists(length: number): Entry {
  const values = Array.from({ length }, () => ({ of: "uint8" as const, values: [] }));
  return { key: "k", type: "array", value: { of: "array", values } };
}

function kindOfAligned(value: number, type: Entry["type"] = "uint32"): string {
  return kindOf(writeModel({ alignment: value, entries: [{ key: "general.alignment", type, value }] }));
}

function kindOfShape(shape: readonly number[]): string {
  return kindOf(withTensors({ tensors: [{ ...one, shape }], content: floats(8) }));
}

function kindOfType(type: number, width: number): string {
  return kindOf(withTensors({ tensors: [{ ...one, type, shape: [width] }], content: new Uint8Array(18) }));
}

function withEntries(...entries: readonly Entry[]): Buffer {
  return writeModel({ entries });
}

function withTensors(model: WrittenModel): Buffer {
  return writeModel({ ...model, entries: [architecture] });
}

function readComplete(bytes: Buffer) {
  return readHeader(bytes, bytes.length);
}

function kindOf(bytes: Buffer, fileBytes = bytes.length): string {
  try {
    readHeader(bytes, fileBytes);
    return "accepted";
  } catch (error) {
    if (error instanceof ModelFileError) return error.detail.kind;
    throw error;
  }
}
