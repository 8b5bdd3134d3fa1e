import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SchemaError } from "../store/parse-json.ts";
import { parseParameters, parseValidParameters } from "./model-parameters.ts";

const everything = {
  temperature: 0.3,
  top_k: 20,
  top_p: 0.5,
  min_p: 0.05,
  typical_p: 0.9,
  repeat_penalty: 1.1,
  repeat_last_n: -1,
  presence_penalty: -2,
  frequency_penalty: 2,
  seed: 42,
  num_predict: -2,
  num_ctx: 4096,
  num_keep: 4,
  num_batch: 512,
  num_gpu: -1,
  main_gpu: 0,
  num_thread: 2,
  use_mmap: false,
  flash_attention: true,
  kv_cache_type: "q8_0",
  stop: ["###", "<|im_end|>"],
};

test("every parameter is mapped to our name", () => {
  const { values, rejected } = parseValidParameters(everything);
  expect(rejected).toEqual([]);
  expect(values).toEqual({
    temperature: 0.3,
    topK: 20,
    topP: 0.5,
    minP: 0.05,
    typicalP: 0.9,
    repeatPenalty: 1.1,
    repeatLastTokens: -1,
    presencePenalty: -2,
    frequencyPenalty: 2,
    seed: 42,
    maxTokens: -2,
    contextTokens: 4096,
    keptTokens: 4,
    batchTokens: 512,
    gpuLayers: -1,
    mainGpu: 0,
    threads: 2,
    memoryMap: false,
    flashAttention: true,
    cacheType: "q8_0",
    stops: ["###", "<|im_end|>"],
  });
});

test("a single stop need not be a list, and unknown parameters are kept in sorted order", () => {
  const read = parseParameters(Buffer.from('{"zeta":[1],"stop":"END","mirostat":2,"__proto__":{"top_k":1}}'));
  expect(read.values).toEqual({ stops: ["END"] });
  expect(read.entries.map(([name]) => name)).toEqual(["__proto__", "mirostat", "stop", "zeta"]);
  expect(read.rejected).toEqual([]);
});

describe("an invalid value is rejected when it is stored and left out when it is read", () => {
  test.each([
    ["temperature", -0.1],
    ["temperature", "hot"],
    ["temperature", null],
    ["top_k", 1.5],
    ["top_p", 1.01],
    ["num_ctx", -1],
    ["num_ctx", "big"],
    ["num_ctx", 2 ** 31],
    ["num_predict", -3],
    ["seed", 0.5],
    ["use_mmap", "yes"],
    ["stop", ""],
    ["stop", [1]],
    ["stop", ["x".repeat(1025)]],
    ["stop", Array.from({ length: 129 }, () => "x")],
  ])("%s %j", (parameter, value) => {
    expect(() => parseValidParameters({ [parameter]: value })).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ kind: "parameter-invalid", parameter }) }),
    );
    const read = parseParameters(Buffer.from(JSON.stringify({ [parameter]: value, min_p: 0.5 })));
    expect(read.values).toEqual({ minP: 0.5 });
    expect(read.rejected.map((each) => each.parameter)).toEqual([parameter]);
  });
});

test("any content yields parameters or a SchemaError", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      expect(outcomeOf(text)).toMatch(/^(?:parameters|schema error)$/u);
    }),
  );
});

function outcomeOf(text: string): string {
  try {
    parseParameters(Buffer.from(text));
    return "parameters";
  } catch (error) {
    return error instanceof SchemaError ? "schema error" : String(error);
  }
}
