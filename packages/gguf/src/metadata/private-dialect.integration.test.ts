import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { corpusModels, makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { inspectModelFile } from "../inspect-model-file.ts";
import { type Entry, writeModel } from "../writing/write-model.ts";
import type { PrivateDialect } from "./private-dialect.ts";

/** A header: keys with their values, and tensors with their shapes. */
type HeaderSpec = {
  readonly architecture: string;
  readonly keys?: readonly Entry[];
  readonly tensors?: Readonly<Record<string, readonly number[]>>;
};

const epsilon: Entry = { key: "gemma3.attention.layer_norm_rms_epsilon", type: "float32", value: 1e-6 };
const commonTensors = {
  "token_embd.weight": [8, 4],
  "output_norm.weight": [8],
  "blk.0.attn_q.weight": [8, 8],
};
const visionTensors = { "v.patch_embd.weight": [8] };

/** Each family as converted by Ollama, and the same model as converted by llama.cpp. */
const families: Readonly<Record<string, readonly [own: HeaderSpec, upstream: HeaderSpec]>> = {
  "gemma3 with vision": [
    { architecture: "gemma3", keys: [epsilon], tensors: { ...commonTensors, ...visionTensors } },
    { architecture: "gemma3", keys: [epsilon], tensors: commonTensors },
  ],
  "gemma3 1B": [
    { architecture: "gemma3", keys: [float("gemma3.rope.global.freq_base")], tensors: commonTensors },
    { architecture: "gemma3", keys: [epsilon, float("gemma3.rope.freq_base")], tensors: commonTensors },
  ],
  embeddinggemma: [
    { architecture: "gemma3", keys: [epsilon], tensors: { ...commonTensors, "dense.0.weight": [8] } },
    { architecture: "gemma-embedding", tensors: { ...commonTensors, "dense_2.weight": [8] } },
  ],
  gemma3n: [
    { architecture: "gemma3n", tensors: { ...commonTensors, "per_layer_token_embd.weight": [8, 3] } },
    { architecture: "gemma3n", tensors: { ...commonTensors, "per_layer_token_embd.weight": [8, 4] } },
  ],
  gemma4: [
    { architecture: "gemma4", tensors: { ...commonTensors, "a.conv1d.0.weight": [8] } },
    { architecture: "gemma4", tensors: { ...commonTensors, "blk.0.ffn_gate_exps.weight": [8] } },
  ],
  "gpt-oss": [
    { architecture: "gptoss", tensors: { ...commonTensors, "blk.0.attn_sinks": [8] } },
    { architecture: "gpt-oss", tensors: { ...commonTensors, "blk.0.attn_sinks.weight": [8] } },
  ],
  lfm2: [
    { architecture: "lfm2", tensors: commonTensors },
    { architecture: "lfm2", tensors: { "token_embd.weight": [8, 4], "token_embd_norm.weight": [8] } },
  ],
  llama4: [
    { architecture: "llama4", tensors: { ...commonTensors, "mm.linear_1.weight": [8] } },
    { architecture: "llama4", tensors: commonTensors },
  ],
  mistral3: [
    { architecture: "mistral3", tensors: { ...commonTensors, ...visionTensors } },
    {
      architecture: "mistral3",
      keys: [float("mistral3.rope.scaling.yarn_beta_fast")],
      tensors: commonTensors,
    },
  ],
  "qwen3.5 by its rope sections": [
    { architecture: "qwen35", keys: [numbers("qwen35.rope.dimension_sections", 3)], tensors: commonTensors },
    { architecture: "qwen35", keys: [numbers("qwen35.rope.dimension_sections", 4)], tensors: commonTensors },
  ],
  "qwen3.5 with experts": [
    { architecture: "qwen35moe", tensors: { ...commonTensors, "mtp.fc.weight": [8] } },
    { architecture: "qwen35moe", tensors: { ...commonTensors, "blk.1.nextn.eh_proj.weight": [8] } },
  ],
  "qwen3-next": [
    { architecture: "qwen3next", tensors: { ...commonTensors, "blk.0.ssm_dt": [8] } },
    { architecture: "qwen3next", tensors: { ...commonTensors, "blk.0.ssm_dt.bias": [8] } },
  ],
  "qwen2.5-vl": [
    { architecture: "qwen25vl", tensors: commonTensors },
    {
      architecture: "qwen2vl",
      keys: [numbers("qwen2vl.rope.dimension_sections", 4)],
      tensors: commonTensors,
    },
  ],
  "qwen3-vl": [
    { architecture: "qwen3vl", tensors: commonTensors },
    {
      architecture: "qwen3vl",
      keys: [numbers("qwen3vl.rope.dimension_sections", 4)],
      tensors: commonTensors,
    },
  ],
  "qwen3-vl with experts": [
    { architecture: "qwen3vlmoe", tensors: { ...commonTensors, ...visionTensors } },
    {
      architecture: "qwen3vlmoe",
      keys: [numbers("qwen3vlmoe.rope.dimension_sections", 4)],
      tensors: commonTensors,
    },
  ],
  olmo3: [
    { architecture: "olmo3", tensors: commonTensors },
    { architecture: "olmo2", tensors: commonTensors },
  ],
  "deepseek-ocr": [
    { architecture: "deepseekocr", tensors: { ...commonTensors, "s.blk.0.attn.weight": [8] } },
    { architecture: "deepseek2-ocr", tensors: commonTensors },
  ],
  "glm-ocr": [
    { architecture: "glmocr", tensors: commonTensors },
    { architecture: "glm4", tensors: commonTensors },
  ],
  "glm-4 flash": [
    { architecture: "glm4moelite", tensors: commonTensors },
    { architecture: "deepseek2", tensors: commonTensors },
  ],
  laguna: [
    { architecture: "laguna", tensors: { ...commonTensors, "blk.0.attn_g.weight": [8] } },
    { architecture: "laguna", tensors: { ...commonTensors, "blk.0.attn_gate.weight": [8] } },
  ],
  nemotron: [
    { architecture: "nemotron_h_moe", tensors: { ...commonTensors, "blk.1.ffn_latent_in.weight": [8] } },
    { architecture: "nemotron_h_moe", tensors: { ...commonTensors, "blk.1.ffn_latent_down.weight": [8] } },
  ],
  "nemotron omni": [
    { architecture: "nemotron_h_omni", tensors: { ...commonTensors, ...visionTensors } },
    { architecture: "nemotron_h_moe", tensors: commonTensors },
  ],
};

test("each family is recognized in Ollama's dialect and passes in llama.cpp's", async () => {
  const entries = Object.entries(families);
  for (const [name, [own, upstream]] of entries) {
    expect(await dialectOf(upstream), `${name} as converted by llama.cpp`).toBeNull();
    const found = await dialectOf(own);
    expect(found, name).not.toBeNull();
    expect(found?.upstream, name).toBe(upstream.architecture);
    expect(found?.difference, name).toMatch(/^[a-z].*[^.]$/u);
  }
  const text = `${entries.length} of ${entries.length} private headers recognized, their ${entries.length} counterparts accepted`;
  recordFigure({ claim: "store 4", text, counted: { reached: entries.length, needed: 22 } });
  expect(entries.length).toBe(22);
});

test("no model that llama.cpp loads is classified as private", async () => {
  const paths = [
    ...(await corpusModels()),
    await testModel("smollm2-135m-instruct-q4_1.gguf"),
    await testModel("all-minilm-l6-v2-f32.gguf"),
    await testModel("tiny-llama.gguf"),
    await testModel("tiny-projector.gguf"),
    await testModel("tiny-audio-projector.gguf"),
  ];
  for (const path of paths) expect((await inspectModelFile(path)).privateDialect, path).toBeNull();
  expect(paths.length).toBeGreaterThanOrEqual(20);
});

test("private keys and tensors in a file of another architecture are ignored", async () => {
  const allTensors = Object.assign({}, ...Object.values(families).map(([own]) => own.tensors));
  const keys = [
    ...new Map(
      Object.values(families)
        .flatMap(([own]) => own.keys ?? [])
        .map((entry) => [entry.key, entry]),
    ).values(),
  ];
  for (const architecture of ["llama", "qwen3", "phi3", "gemma2", "clip", "mamba", "command-r"]) {
    expect(await dialectOf({ architecture, keys, tensors: allTensors }), architecture).toBeNull();
  }
});

async function dialectOf({
  architecture,
  keys = [],
  tensors = {},
}: HeaderSpec): Promise<PrivateDialect | null> {
  await using folder = await makeTemporaryFolder("dialects");
  const path = join(folder.path, "model.gguf");
  let offset = 0;
  const tensorSpecs = Object.entries(tensors).map(([name, shape]) => {
    const tensor = { name, shape, offset };
    offset += Math.ceil((shape.reduce((product, length) => product * length, 1) * 4) / 32) * 32;
    return tensor;
  });
  const architectureEntry: Entry = { key: "general.architecture", type: "string", value: architecture };
  await writeFile(
    path,
    writeModel({
      entries: [architectureEntry, ...keys],
      tensors: tensorSpecs,
      content: new Uint8Array(offset),
    }),
  );
  return (await inspectModelFile(path)).privateDialect;
}

function float(key: string): Entry {
  return { key, type: "float32", value: 10_000 };
}

function numbers(key: string, count: number): Entry {
  return { key, type: "array", value: { of: "int32", values: Array.from({ length: count }, () => 8) } };
}
