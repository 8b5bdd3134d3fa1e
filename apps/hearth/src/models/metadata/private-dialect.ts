import type { ModelFile, PrivateFamily } from "@hearth-and-keep/gguf";
import { modelFailure } from "../model-failure.ts";

/** The same models, converted by llama.cpp. */
const replacements: Readonly<Record<PrivateFamily, string>> = {
  embeddinggemma: "hf.co/ggml-org/embeddinggemma-300M-GGUF",
  gemma3: "hf.co/ggml-org/gemma-3-4b-it-GGUF",
  gemma3n: "hf.co/ggml-org/gemma-3n-E2B-it-GGUF",
  gemma4: "hf.co/ggml-org/gemma-4-E4B-it-GGUF",
  "gpt-oss": "hf.co/ggml-org/gpt-oss-20b-GGUF",
  lfm2: "hf.co/LiquidAI/LFM2-1.2B-GGUF",
  llama4: "hf.co/ggml-org/Llama-4-Scout-17B-16E-Instruct-GGUF",
  mistral3: "hf.co/ggml-org/Mistral-Small-3.1-24B-Instruct-2503-GGUF",
  "qwen3.5": "hf.co/unsloth/Qwen3.5-9B-GGUF",
  "qwen3.5 with experts": "hf.co/unsloth/Qwen3.5-35B-A3B-GGUF",
  "qwen3-next": "hf.co/Qwen/Qwen3-Next-80B-A3B-Instruct-GGUF",
  "qwen2.5-vl": "hf.co/ggml-org/Qwen2.5-VL-7B-Instruct-GGUF",
  "qwen3-vl": "hf.co/Qwen/Qwen3-VL-8B-Instruct-GGUF",
  "qwen3-vl with experts": "hf.co/Qwen/Qwen3-VL-30B-A3B-Instruct-GGUF",
  olmo3: "hf.co/unsloth/Olmo-3-7B-Instruct-GGUF",
  "deepseek-ocr": "hf.co/ggml-org/DeepSeek-OCR-GGUF",
  "glm-ocr": "hf.co/ggml-org/GLM-OCR-GGUF",
  "glm-4 flash": "hf.co/unsloth/GLM-4.7-Flash-GGUF",
  laguna: "hf.co/Lucebox/Laguna-XS.2-GGUF",
  nemotron: "hf.co/unsloth/Nemotron-3-Nano-30B-A3B-GGUF",
  "nemotron omni": "hf.co/unsloth/Nemotron-3-Nano-30B-A3B-GGUF",
};

/** These files can be listed, shown, copied and deleted, but not loaded, so create and pull reject them. */
export function rejectPrivateDialect({
  architecture,
  privateDialect,
}: Pick<ModelFile, "architecture" | "privateDialect">): void {
  if (privateDialect === null) return;
  const { family, difference } = privateDialect;
  const advice =
    `this file uses Ollama's own variant of GGUF (${difference}); ` +
    `pull a llama.cpp conversion of the model instead, e.g. "${replacements[family]}"`;
  throw modelFailure({ kind: "file-dialect-unsupported", architecture: architecture ?? "", advice });
}
