import { copyFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { listCapabilities } from "./capabilities.ts";
import { formatParameterCount } from "./config-blob.ts";
import type { HeaderFacts } from "./header-facts.ts";
import { createHeaderReader } from "./header-reader.ts";
import { formatTime } from "./stored-model.ts";

test("parameter counts are formatted like Ollama's", () => {
  const counts = [999, 12_345, 1_000_000, 134_515_008, 8_030_261_248, 7_000_000_000, 1_026_000_000_000];
  expect(counts.map(formatParameterCount)).toEqual(["999", "12K", "1M", "134.52M", "8.0B", "7B", "1.0T"]);
});

test("times are in UTC without trailing zeros", () => {
  expect(formatTime(1_794_708_812_855_716_847n)).toBe("2026-11-15T02:13:32.855716847Z");
  expect(formatTime(1_794_708_812_855_000_000n)).toBe("2026-11-15T02:13:32.855Z");
  expect(formatTime(1_794_708_812_000_000_000n)).toBe("2026-11-15T02:13:32Z");
});

const noCapabilities = {
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
  capabilities: noCapabilities,
  isPooled: false,
  attention: { layers: 0, keyValueHeads: [], keyLength: 0, valueLength: 0 },
  vocabularySize: 0,
  weightBytes: 0,
  privateDialect: null,
};
const sources = { facts, projector: undefined, template: null, declared: [] };

test.each([
  { rule: "a text model has completion", changed: {}, capabilities: ["completion"] },
  {
    rule: "a pooled model has embedding",
    changed: { facts: { ...facts, isPooled: true } },
    capabilities: ["embedding"],
  },
  {
    rule: "a reranker has rank",
    changed: { facts: { ...facts, isPooled: true, capabilities: { ...noCapabilities, rank: true } } },
    capabilities: ["rank"],
  },
  {
    rule: "a projector for images adds vision",
    changed: { projector: { vision: true, audio: false } },
    capabilities: ["completion", "vision"],
  },
  {
    rule: "a projector for sound adds audio",
    changed: { projector: { vision: false, audio: true } },
    capabilities: ["completion", "audio"],
  },
  {
    rule: "a projector for both adds both",
    changed: { projector: { vision: true, audio: true } },
    capabilities: ["completion", "vision", "audio"],
  },
  {
    rule: "a Go template adds tools, insert and thinking",
    changed: { template: "{{ .Suffix }}{{ range .Tools }}{{ end }}{{ .Thinking }}" },
    capabilities: ["completion", "tools", "insert", "thinking"],
  },
  {
    rule: "a plain Go template adds nothing",
    changed: { template: "{{ .Prompt }}" },
    capabilities: ["completion"],
  },
  {
    rule: "the file's own template adds tools and thinking",
    changed: { facts: { ...facts, capabilities: { ...noCapabilities, tools: true, thinking: true } } },
    capabilities: ["completion", "tools", "thinking"],
  },
  {
    rule: "the configuration adds known capabilities and ignores unknown ones",
    changed: { declared: ["vision", "flying"] },
    capabilities: ["completion", "vision"],
  },
])("$rule", ({ changed, capabilities }) => {
  expect(listCapabilities({ ...sources, ...changed })).toEqual(capabilities);
});

test("a header is cached until the file changes, and failures are not cached", async () => {
  await using folder = await makeTemporaryFolder("headers");
  const path = join(folder.path, "model.gguf");
  const headers = createHeaderReader(2);
  await writeFile(path, "not a model");
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
