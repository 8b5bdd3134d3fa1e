import { describe, expect, test } from "vitest";
import { ModelFileError } from "../model-file-error.ts";
import { readHeader } from "../reading/read-header.ts";
import { type Entry, type EntryValue, writeModel } from "../writing/write-model.ts";
import { checkMetadata } from "./check-metadata.ts";

const architecture: Entry = { key: "general.architecture", type: "string", value: "llama" };
const clip: Entry = { ...architecture, value: "clip" };
const tokens = strings("tokenizer.ggml.tokens", ["a", "b", "c"]);

describe("architecture", () => {
  test("a model declares its architecture as a valid name", () => {
    expect(kindOf(architecture)).toBe("accepted");
    expect(kindOf()).toBe("key-missing");
    expect(kindOf({ ...architecture, value: "llama\0" })).toBe("value-unusable");
    expect(kindOf({ ...architecture, type: "uint32", value: 7 })).toBe("value-unusable");
  });

  test("the second part of a split model need not repeat it", () => {
    expect(kindOf({ key: "split.no", type: "uint16", value: 1 })).toBe("accepted");
    expect(kindOf({ key: "split.no", type: "uint16", value: 0 })).toBe("key-missing");
  });
});

describe("dimensions", () => {
  test.for([
    ["context_length", 131_072, 2 ** 31],
    ["embedding_length", 16_384, 2 ** 24],
    ["block_count", 126, 513],
    ["attention.head_count", 128, 2 ** 20],
    ["attention.head_count_kv", 8, 2 ** 20],
    ["feed_forward_length", 53_248, 2 ** 30],
    ["vocab_size", 262_144, 2 ** 30],
    ["expert_count", 512, 5000],
    ["pooling_type", 4, 5],
  ] as const)("%s of %i is accepted, of %i is rejected", ([name, typical, excessive]) => {
    const key = `llama.${name}`;
    expect(kindOf(architecture, { key, type: "uint32", value: typical })).toBe("accepted");
    expect(kindOf(architecture, { key, type: "uint64", value: typical })).toBe("accepted");
    expect(kindOf(architecture, { key, type: "uint32", value: excessive })).toBe("value-unusable");
    expect(kindOf(architecture, { key, type: "int32", value: -1 })).toBe("value-unusable");
    expect(kindOf(architecture, { key, type: "uint64", value: 2n ** 63n })).toBe("value-unusable");
    expect(kindOf(architecture, { key, type: "string", value: "8" })).toBe("value-unusable");
  });

  test("zero is rejected for dimensions that are used as divisors", () => {
    for (const name of ["context_length", "embedding_length", "block_count"]) {
      expect(kindOf(architecture, { key: `llama.${name}`, type: "uint32", value: 0 })).toBe("value-unusable");
    }
  });

  test.for(["attention.head_count", "attention.head_count_kv", "feed_forward_length"])(
    "%s of 0 for all layers is rejected, except in a state-space or recurrent model",
    (name) => {
      const zero: Entry = { key: `llama.${name}`, type: "uint32", value: 0 };
      expect(kindOf(architecture, zero)).toBe("value-unusable");
      expect(kindOf(architecture, { ...zero, value: 1 })).toBe("accepted");
      expect(kindOf(architecture, numbers(zero.key, "uint32", [0, 1]))).toBe("accepted");
      for (const other of ["ssm.state_size", "wkv.head_size"]) {
        expect(kindOf(architecture, zero, { key: `llama.${other}`, type: "uint32", value: 16 })).toBe(
          "accepted",
        );
      }
    },
  );

  test("experts can replace the feed-forward network, but not the attention heads", () => {
    const experts: Entry = { key: "llama.expert_count", type: "uint32", value: 8 };
    const zero: Entry = { key: "llama.feed_forward_length", type: "uint32", value: 0 };
    expect(kindOf(architecture, experts, zero)).toBe("accepted");
    expect(kindOf(architecture, { ...experts, value: 0 }, zero)).toBe("value-unusable");
    expect(kindOf(architecture, experts, { ...zero, key: "llama.attention.head_count" })).toBe(
      "value-unusable",
    );
  });

  test("a list with one number per layer is accepted, and each number is checked", () => {
    const key = "llama.attention.head_count_kv";
    expect(kindOf(architecture, numbers(key, "uint32", [8, 0, 4]))).toBe("accepted");
    expect(kindOf(architecture, numbers(key, "uint32", [8, 0, 2 ** 20]))).toBe("value-unusable");
    expect(kindOf(architecture, numbers(key, "float32", [8, 0.5]))).toBe("value-unusable");
    expect(
      kindOf(
        architecture,
        numbers(
          key,
          "uint32",
          Array.from({ length: 513 }, () => 8),
        ),
      ),
    ).toBe("value-unusable");
  });
});

describe("vocabulary", () => {
  test("scores and token types have one value of the right type per token", () => {
    const scores = "tokenizer.ggml.scores";
    const types = "tokenizer.ggml.token_type";
    expect(kindOf(architecture, tokens, numbers(scores, "float32", [0, -1, -2]))).toBe("accepted");
    expect(kindOf(architecture, tokens, numbers(types, "int32", [1, 1, 3]))).toBe("accepted");
    expect(kindOf(architecture, tokens, numbers(scores, "float32", [0, -1]))).toBe("vocabulary-inconsistent");
    expect(kindOf(architecture, tokens, numbers(types, "int32", [1, 1, 3, 1]))).toBe(
      "vocabulary-inconsistent",
    );
    expect(kindOf(architecture, tokens, numbers(scores, "uint8", [0, 1, 2]))).toBe("value-unusable");
    expect(kindOf(architecture, tokens, strings(types, ["1", "1", "3"]))).toBe("value-unusable");
  });

  test("tokens and merges are strings, with at least one token and none over 65,535 bytes", () => {
    const key = "tokenizer.ggml.tokens";
    expect(kindOf(architecture, strings(key, ["t".repeat(65_535)]))).toBe("accepted");
    expect(kindOf(architecture, strings(key, ["t".repeat(65_536)]))).toBe("too-large");
    expect(kindOf(architecture, strings(key, []))).toBe("value-unusable");
    expect(kindOf(architecture, numbers(key, "uint32", [1, 2]))).toBe("value-unusable");
    expect(kindOf(architecture, numbers("tokenizer.ggml.merges", "uint32", [1, 2]))).toBe("value-unusable");
  });

  test.for(["bos", "eos", "eot", "unknown", "padding", "fim_pre"])(
    "the %s token is in the vocabulary or absent",
    (name) => {
      const key = `tokenizer.ggml.${name}_token_id`;
      for (const value of [0, 2, 2 ** 32 - 1]) {
        expect(kindOf(architecture, tokens, { key, type: "uint32", value })).toBe("accepted");
      }
      expect(kindOf(architecture, tokens, { key, type: "uint32", value: 3 })).toBe("vocabulary-inconsistent");
    },
  );
});

describe("tokens", () => {
  const key = "tokenizer.ggml.tokens";
  const bytes = Array.from({ length: 256 }, (_, byte) => byteToken(byte));

  test("no two tokens are equal up to a zero byte, where native code truncates them", () => {
    expect(kindOf(architecture, strings(key, ["a", "b", "A"]))).toBe("accepted");
    expect(kindOf(architecture, strings(key, ["a", "b", "a"]))).toBe("vocabulary-inconsistent");
    expect(kindOf(architecture, strings(key, ["a", "b", "b\0c"]))).toBe("vocabulary-inconsistent");
    expect(kindOf(architecture, strings(key, ["a", "bc", "b\0c"]))).toBe("accepted");
  });

  test("tokens that are not valid UTF-8 are compared by their bytes", () => {
    expect(kindOf(architecture, strings(key, [Uint8Array.of(0xfe), Uint8Array.of(0xff)]))).toBe("accepted");
    expect(kindOf(architecture, strings(key, [Uint8Array.of(0xff), Uint8Array.of(0xff)]))).toBe(
      "vocabulary-inconsistent",
    );
  });

  test("an empty token is named after its index, and no other token may have that name", () => {
    expect(kindOf(architecture, strings(key, ["", "a", ""]))).toBe("accepted");
    expect(kindOf(architecture, strings(key, ["", "a", "[EMPTY_0]"]))).toBe("vocabulary-inconsistent");
    expect(kindOf(architecture, strings(key, ["", "a", "[EMPTY_1]"]))).toBe("accepted");
  });

  test("a SentencePiece vocabulary has tokens for all bytes or for none; a single-character token counts as a byte token", () => {
    const sentencePiece: Entry = { key: "tokenizer.ggml.model", type: "string", value: "llama" };
    const without = bytes.filter((name) => name !== byteToken(0x41));
    expect(kindOf(architecture, sentencePiece, strings(key, bytes))).toBe("accepted");
    expect(kindOf(architecture, sentencePiece, strings(key, ["a", "b"]))).toBe("accepted");
    expect(kindOf(architecture, sentencePiece, strings(key, [...without, "A"]))).toBe("accepted");
    expect(kindOf(architecture, sentencePiece, strings(key, without))).toBe("vocabulary-inconsistent");
    expect(kindOf(architecture, { ...sentencePiece, value: "gpt2" }, strings(key, without))).toBe("accepted");
  });

  test("a million tokens are accepted, one more is rejected", () => {
    expect(kindOfBytes(writeEmptyTokens(2 ** 20))).toBe("accepted");
    expect(kindOfBytes(writeEmptyTokens(2 ** 20 + 1))).toBe("too-large");
  });

  function writeEmptyTokens(count: number): Uint8Array {
    const empty = writeModel({ alignment: 1, entries: [architecture, strings(key, [])] });
    empty.writeBigUInt64LE(BigInt(count), empty.length - 8);
    return Buffer.concat([empty, Buffer.alloc(8 * count)]);
  }
});

describe("image projector", () => {
  test("an image has between 1 and 1,024 patches per side", () => {
    expect(kindOf(clip, vision("image_size", 336), vision("patch_size", 14))).toBe("accepted");
    expect(kindOf(clip, vision("image_size", 336), vision("patch_size", 0))).toBe("value-unusable");
    expect(kindOf(clip, vision("image_size", 10), vision("patch_size", 14))).toBe("value-unusable");
    expect(kindOf(clip, vision("image_size", 14_350), vision("patch_size", 14))).toBe("value-unusable");
  });

  test("mean and standard deviation have three numbers", () => {
    const key = "clip.vision.image_mean";
    expect(kindOf(clip, numbers(key, "float32", [0.5, 0.5, 0.5]))).toBe("accepted");
    expect(kindOf(clip, numbers(key, "float32", [0.5, 0.5]))).toBe("value-unusable");
  });

  test("heads, layers and widths have bounds", () => {
    expect(kindOf(clip, vision("attention.head_count", 16), vision("projection_dim", 4096))).toBe("accepted");
    expect(kindOf(clip, vision("attention.head_count", 0))).toBe("value-unusable");
    expect(kindOf(clip, vision("projection_dim", 2 ** 30))).toBe("value-unusable");
    expect(kindOf(clip, vision("block_count", 600))).toBe("value-unusable");
  });

  test("an audio encoder stacks between 1 and 4,096 frames", () => {
    expect(kindOf(clip, stacked(8))).toBe("accepted");
    expect(kindOf(clip, stacked(0))).toBe("value-unusable");
    expect(kindOf(clip, stacked(5000))).toBe("value-unusable");
  });
});

function stacked(value: number): Entry {
  return { key: "clip.audio.projector.stack_factor", type: "uint32", value };
}

function vision(name: string, value: number): Entry {
  return { key: `clip.vision.${name}`, type: "uint32", value };
}

function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

function strings(key: string, values: readonly (string | Uint8Array)[]): Entry {
  return { key, type: "array", value: { of: "string", values } };
}

function numbers(
  key: string,
  of: "uint8" | "uint32" | "int32" | "float32",
  values: readonly EntryValue[],
): Entry {
  return { key, type: "array", value: { of, values } };
}

function kindOf(...entries: readonly Entry[]): string {
  return kindOfBytes(writeModel({ entries }));
}

function kindOfBytes(bytes: Uint8Array): string {
  try {
    checkMetadata(readHeader(bytes, bytes.length).metadata);
    return "accepted";
  } catch (error) {
    if (error instanceof ModelFileError) return error.detail.kind;
    throw error;
  }
}
