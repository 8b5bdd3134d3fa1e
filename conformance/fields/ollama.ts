import type { FieldTable } from "./field-table.ts";

const serverDecides = "how a model is loaded is a setting of the server";
const removed = "engines have no such sampler";

const loadOptionNames = ["num_batch", "num_gpu"];

const optionNames = [
  ...loadOptionNames,
  "frequency_penalty",
  "min_p",
  "num_ctx",
  "num_predict",
  "presence_penalty",
  "repeat_last_n",
  "repeat_penalty",
  "seed",
  "stop",
  "temperature",
  "top_k",
  "top_p",
  "typical_p",
];

const loadingOptions = {
  "options.embedding_only": serverDecides,
  "options.f16_kv": serverDecides,
  "options.logits_all": serverDecides,
  "options.low_vram": serverDecides,
  "options.main_gpu": serverDecides,
  "options.mirostat": removed,
  "options.mirostat_eta": removed,
  "options.mirostat_tau": removed,
  "options.num_keep": "the system prompt and the newest messages are always kept",
  "options.num_thread": serverDecides,
  "options.numa": serverDecides,
  "options.penalize_newline": removed,
  "options.tfs_z": removed,
  "options.use_mlock": serverDecides,
  "options.use_mmap": serverDecides,
  "options.vocab_only": serverDecides,
};

const embeddings = {
  fields: [
    "keep_alive",
    "model",
    "options",
    "options.num_ctx",
    ...loadOptionNames.map((name) => `options.${name}`),
  ],
  ignored: {
    ...loadingOptions,
    ...Object.fromEntries(
      optionNames
        .filter((name) => name !== "num_ctx" && !loadOptionNames.includes(name))
        .map((name) => [`options.${name}`, "embeddings are not sampled"]),
    ),
  },
};

const generation = {
  fields: [
    "model",
    "stream",
    "format",
    "keep_alive",
    "think",
    "logprobs",
    "top_logprobs",
    "options",
    ...optionNames.map((name) => `options.${name}`),
  ],
  ignored: loadingOptions,
};

const onlyText = "stored messages have only text";
const noImages = "there are no models that generate images";
const forTheCloud = "a service of ollama.com";

export const ollamaFields: FieldTable = {
  served: {
    "POST /api/chat": {
      supported: [
        ...generation.fields,
        "messages",
        "messages.content",
        "messages.images",
        "messages.role",
        "messages.thinking",
        "messages.tool_calls",
        "messages.tool_name",
        "tools",
        "tools.function",
        "tools.type",
      ],
      ignored: generation.ignored,
    },
    "POST /api/generate": {
      supported: [...generation.fields, "context", "images", "prompt", "raw", "suffix", "system", "template"],
      ignored: { ...generation.ignored, height: noImages, steps: noImages, width: noImages },
    },
    "POST /api/embed": {
      supported: [...embeddings.fields, "dimensions", "input", "truncate"],
      ignored: embeddings.ignored,
    },
    "POST /api/embeddings": {
      supported: [...embeddings.fields, "prompt"],
      ignored: embeddings.ignored,
    },
    "POST /api/show": {
      supported: ["model"],
      ignored: {
        options: "shows the model as it is stored",
        system: "shows the model as it is stored",
        template: "shows the model as it is stored",
      },
    },
    "POST /api/create": {
      supported: [
        "adapters",
        "from",
        "license",
        "messages",
        "messages.content",
        "messages.role",
        "model",
        "parameters",
        "quantize",
        "stream",
        "system",
        "template",
      ],
      ignored: {
        "messages.images": onlyText,
        "messages.thinking": onlyText,
        "messages.tool_calls": onlyText,
        "messages.tool_name": onlyText,
      },
    },
    "POST /api/pull": { supported: ["insecure", "model", "stream"] },
    "POST /api/push": { supported: ["insecure", "model", "stream"] },
    "POST /api/copy": { supported: ["destination", "source"] },
    "DELETE /api/delete": { supported: ["model"] },
    "GET /api/tags": { supported: [] },
    "GET /api/ps": { supported: [] },
    "GET /api/version": { supported: [] },
  },
  refused: {
    "POST /v1/systemone": "there is no such model",
    "POST /api/web_search": forTheCloud,
    "POST /api/web_fetch": forTheCloud,
  },
};
