import {
  byteSizeSetting,
  durationSetting,
  integerSetting,
  textSetting,
} from "@hearth-and-keep/configuration";

/** Responses and conversations that later requests can continue. */
const responseStoreSettings = {
  maxStoredResponses: integerSetting({
    placeholder: "number",
    defaultValue: 512,
    min: 0,
    max: 100_000,
    description:
      "responses and conversations of the Responses API kept per key, for requests that continue them by id; 0 stores none",
  }),
  responseMemory: byteSizeSetting({
    placeholder: "size",
    defaultText: "64MiB",
    description: "memory for the stored responses of each key; the least recently used one is deleted first",
  }),
  responseMemoryTotal: byteSizeSetting({
    placeholder: "size",
    defaultText: "256MiB",
    description: "memory for the stored responses of all keys together",
  }),
  responseIdle: durationSetting({
    placeholder: "time",
    defaultValue: 86_400,
    defaultText: "24h",
    description: "how long a stored response is kept after it was last used, e.g. 30m, 24h or forever",
  }),
  responseFolder: textSetting({
    placeholder: "folder",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "also store responses in this folder, so that they survive a restart; encrypted with a key of this machine, one folder per server",
  }),
} as const;

/** States of prompts that outlive a model's process. */
const promptCacheSettings = {
  promptCacheMemory: byteSizeSetting({
    placeholder: "size",
    defaultText: "none",
    description:
      "memory for evaluated prompts of all keys, so that conversations go on at once after a model was unloaded; with --prompt-cache-dir they are on disk instead",
  }),
  promptCacheDir: textSetting({
    placeholder: "folder",
    defaultValue: undefined,
    maxLength: 4096,
    description:
      "store evaluated prompts in this folder, so that conversations go on at once after a model was unloaded or the server restarted; encrypted with a key of this machine, one folder per server",
  }),
  promptCacheSize: byteSizeSetting({
    placeholder: "size",
    defaultText: "1GiB",
    description:
      "disk space for the evaluated prompts of each key; the least recently used one is deleted first",
  }),
  promptCacheSizeTotal: byteSizeSetting({
    placeholder: "size",
    defaultText: "4GiB",
    description: "disk space for the evaluated prompts of all keys together",
  }),
} as const;

/** Requests that run in the background, and the files of their requests and results. */
const batchSettings = {
  maxBatches: integerSetting({
    placeholder: "number",
    defaultValue: 100,
    min: 0,
    max: 10_000,
    description: "batches of the OpenAI API, and of the Anthropic API, kept per key; 0 accepts none",
  }),
  batchMemory: byteSizeSetting({
    placeholder: "size",
    defaultText: "64MiB",
    description: "memory for the batches and uploaded files of each key",
  }),
  batchMemoryTotal: byteSizeSetting({
    placeholder: "size",
    defaultText: "256MiB",
    description: "memory for the batches and uploaded files of all keys together",
  }),
} as const;

/** What the server keeps between requests, and how much of it. */
export const retentionSettings = {
  ...responseStoreSettings,
  ...promptCacheSettings,
  ...batchSettings,
} as const;
