import { inspectModelFile } from "@hearth-and-keep/gguf";
import { testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { estimateContextBytes, memoryLimitBytes } from "./memory-limit.ts";

const gibibyte = 1024 ** 3;

test("a worker may use twice what its model, context and program should need", () => {
  const needs = { modelBytes: 4 * gibibyte, contextBytes: gibibyte, machineBytes: 64 * gibibyte };
  expect(memoryLimitBytes(needs)).toBe(13 * gibibyte);
  expect(memoryLimitBytes({ ...needs, modelBytes: 0, contextBytes: 0 })).toBe(3 * gibibyte);
});

test.each([
  { machine: 64, allowed: 60 },
  { machine: 16, allowed: 15 },
  { machine: 4, allowed: 3.5 },
])("on a machine with $machine GiB no worker may use more than $allowed GiB", ({ machine, allowed }) => {
  const needs = { modelBytes: 70 * gibibyte, contextBytes: 0, machineBytes: machine * gibibyte };
  expect(memoryLimitBytes(needs)).toBe(allowed * gibibyte);
});

test("even on a tiny machine a worker has enough memory to start and report the problem", () => {
  const needs = { modelBytes: gibibyte, contextBytes: 0, machineBytes: gibibyte };
  expect(memoryLimitBytes(needs)).toBe(1.5 * gibibyte);
});

test("the context size follows from the model's metadata, the number of sequences and the cache type", async () => {
  const { metadata } = await inspectModelFile(await testModel("smollm2-135m-instruct-q4_1.gguf"));
  // 30 layers, 3 KV heads, 64 values each for key and value.
  const valuesPerToken = 30 * 3 * (64 + 64);
  const plan = { contextTokens: 2048, sequences: 4 };
  expect(estimateContextBytes(metadata, plan)).toBe(2048 * 4 * valuesPerToken * 2);
  expect(estimateContextBytes(metadata, { ...plan, cacheType: "q8_0" })).toBe(
    2048 * 4 * valuesPerToken * 1.0625,
  );
});

test("a file without these metadata counts as a large model", () => {
  const plan = { contextTokens: 1000, sequences: 1 };
  const seventyBillionModel = 1000 * 80 * 64 * (128 + 128) * 2;
  expect(estimateContextBytes(undefined, plan)).toBeGreaterThanOrEqual(seventyBillionModel);
  expect(estimateContextBytes(new Map(), plan)).toBe(estimateContextBytes(undefined, plan));
});
