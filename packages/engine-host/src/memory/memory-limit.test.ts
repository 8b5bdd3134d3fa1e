import { inspectModelFile } from "@hearth-and-keep/gguf";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { estimateContextBytes, memoryLimitBytes } from "./memory-limit.ts";

const gibibyte = 1024 ** 3;

test("a worker may take twice what its model, its context and the program should need", () => {
  const needs = { modelBytes: 4 * gibibyte, contextBytes: gibibyte, machineBytes: 64 * gibibyte };
  expect(memoryLimitBytes(needs)).toBe(13 * gibibyte);
  expect(memoryLimitBytes({ ...needs, modelBytes: 0, contextBytes: 0 })).toBe(3 * gibibyte);
});

test.each([
  { machine: 64, allowed: 60 },
  { machine: 16, allowed: 15 },
  { machine: 4, allowed: 3.5 },
])("on a machine of $machine GiB no worker may take more than $allowed GiB", ({ machine, allowed }) => {
  const needs = { modelBytes: 70 * gibibyte, contextBytes: 0, machineBytes: machine * gibibyte };
  expect(memoryLimitBytes(needs)).toBe(allowed * gibibyte);
});

test("even on a tiny machine a worker has room to start and say what is wrong", () => {
  const needs = { modelBytes: gibibyte, contextBytes: 0, machineBytes: gibibyte };
  expect(memoryLimitBytes(needs)).toBe(1.5 * gibibyte);
});

test("the context of a model is counted from its own shape, for all sequences and by the cache's type", async () => {
  const { metadata } = await inspectModelFile(await testModel("smollm2-135m-instruct-q4_1.gguf"));
  // 30 layers, 3 heads in the cache, 64 numbers each for key and value.
  const numbersPerToken = 30 * 3 * (64 + 64);
  const plan = { contextTokens: 2048, sequences: 4 };
  expect(estimateContextBytes(metadata, plan)).toBe(2048 * 4 * numbersPerToken * 2);
  expect(estimateContextBytes(metadata, { ...plan, cacheType: "q8_0" })).toBe(
    2048 * 4 * numbersPerToken * 1.0625,
  );
});

test("a file that does not tell its shape is given the context of a large model", () => {
  const plan = { contextTokens: 1000, sequences: 1 };
  const ofSeventyBillion = 1000 * 80 * 64 * (128 + 128) * 2;
  expect(estimateContextBytes(undefined, plan)).toBeGreaterThanOrEqual(ofSeventyBillion);
  expect(estimateContextBytes(new Map(), plan)).toBe(estimateContextBytes(undefined, plan));
});
