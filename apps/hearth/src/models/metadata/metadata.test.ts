import { copyFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { listCapabilities } from "./capabilities.ts";
import { describeParameterCount } from "./config-blob.ts";
import type { HeaderFacts } from "./header-facts.ts";
import { createHeaderReader } from "./header-reader.ts";
import { LeastRecentlyUsed } from "./least-recently-used.ts";
import { formatTime } from "./stored-model.ts";

test("parameter counts are told as Ollama tells them", () => {
  const counts = [999, 12_345, 1_000_000, 134_515_008, 8_030_261_248, 7_000_000_000, 1_026_000_000_000];
  expect(counts.map(describeParameterCount)).toEqual(["999", "12K", "1M", "134.52M", "8.0B", "7B", "1.0T"]);
});

test("times are in UTC with the digits that are there", () => {
  expect(formatTime(1_794_708_812_855_716_847n)).toBe("2026-11-15T02:13:32.855716847Z");
  expect(formatTime(1_794_708_812_855_000_000n)).toBe("2026-11-15T02:13:32.855Z");
  expect(formatTime(1_794_708_812_000_000_000n)).toBe("2026-11-15T02:13:32Z");
});

const nothing = {
  embedding: false,
  rank: false,
  fillInTheMiddle: false,
  vision: false,
  audio: false,
  tools: false,
  thinking: false,
};
const facts: HeaderFacts = {
  architecture: "llama",
  fileType: "F16",
  parameterCount: 1,
  trainedContextTokens: 1,
  embeddingLength: 1,
  chatTemplate: null,
  hints: nothing,
  isPooled: false,
  attention: { layers: 0, keyValueHeads: [], keyLength: 0, valueLength: 0 },
  weightBytes: 0,
  privateDialect: null,
};
const sources = { facts, hasProjector: false, template: null, named: [] };

test.each([
  { rule: "a plain model completes", changed: {}, can: ["completion"] },
  { rule: "a pooled one embeds", changed: { facts: { ...facts, isPooled: true } }, can: ["embedding"] },
  {
    rule: "a reranker ranks",
    changed: { facts: { ...facts, isPooled: true, hints: { ...nothing, rank: true } } },
    can: ["rank"],
  },
  { rule: "a projector sees", changed: { hasProjector: true }, can: ["completion", "vision"] },
  {
    rule: "a template in Go tells tools, insertion and thinking",
    changed: { template: "{{ .Suffix }}{{ range .Tools }}{{ end }}{{ .Thinking }}" },
    can: ["completion", "tools", "insert", "thinking"],
  },
  { rule: "a template without them tells none", changed: { template: "{{ .Prompt }}" }, can: ["completion"] },
  {
    rule: "the file's own template tells tools and thinking",
    changed: { facts: { ...facts, hints: { ...nothing, tools: true, thinking: true } } },
    can: ["completion", "tools", "thinking"],
  },
  {
    rule: "the configuration adds what it names, and no word of its own",
    changed: { named: ["vision", "flying"] },
    can: ["completion", "vision"],
  },
])("$rule", ({ changed, can }) => {
  expect(listCapabilities({ ...sources, ...changed })).toEqual(can);
});

test("a header is read once while the file stays the same, and a failed reading is tried again", async () => {
  await using folder = await makeTemporaryFolder("headers");
  const path = join(folder.path, "model.gguf");
  const headers = createHeaderReader(2);
  await writeFile(path, "no model");
  const refusal = headers.readFacts({ path, fingerprint: "a" });
  await expect(refusal).rejects.toMatchObject({ failure: { kind: "model-file-invalid" } });
  await copyFile(await testModel("tiny-llama.gguf"), path);
  const first = await headers.readFacts({ path, fingerprint: "a" });
  await rm(path);
  expect(await headers.readFacts({ path, fingerprint: "a" })).toBe(first);
  await expect(headers.readFacts({ path, fingerprint: "b" })).rejects.toMatchObject({
    failure: { kind: "model-file-invalid", reason: "The file cannot be read" },
  });
});

test("the value that was asked for longest ago goes first", () => {
  const values = new LeastRecentlyUsed<number>(2);
  values.set("one", 1);
  values.set("two", 2);
  values.get("one");
  values.set("three", 3);
  expect([values.get("one"), values.get("two"), values.get("three"), values.size]).toEqual([
    1,
    undefined,
    3,
    2,
  ]);
});
