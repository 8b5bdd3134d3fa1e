import { choiceSetting, integerSetting } from "@hearth-and-keep/configuration";

/** Options of Ollama's API about loading. Ollama has the first two. */
export const loadOptionNames = ["num_batch", "num_gpu", "flash_attention", "kv_cache_type"] as const;

/** How models are loaded, unless a model or a request sets it. */
export const loadSettings = {
  gpuLayers: integerSetting({
    placeholder: "number",
    defaultValue: undefined,
    defaultText: "as many as fit",
    min: 0,
    max: 100_000,
    description: "layers to run on the GPU, with an engine that has one; 0 uses the CPU only (num_gpu)",
  }),
  batchSize: integerSetting({
    placeholder: "tokens",
    defaultValue: undefined,
    defaultText: "512",
    min: 32,
    max: 2048,
    description: "prompt tokens to process at a time (num_batch)",
  }),
  kvCacheType: choiceSetting<"auto" | "f16" | "q8_0" | "q4_0">({
    placeholder: "type",
    defaultValue: "auto",
    choices: ["auto", "f16", "q8_0", "q4_0"],
    description:
      "type of cached keys and values: f16, q8_0, q4_0, or auto for q8_0 where f16 leaves too little context (kv_cache_type)",
  }),
  flashAttention: choiceSetting<"auto" | "on" | "off">({
    placeholder: "mode",
    defaultValue: "auto",
    choices: ["auto", "on", "off"],
    description: "flash attention: on, off, or auto; a quantized cache always uses it (flash_attention)",
  }),
} as const;
