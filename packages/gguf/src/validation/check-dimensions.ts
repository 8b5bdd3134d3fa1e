import { quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import { checkWholes, findWhole, type Range, refuseKey } from "./metadata-values.ts";

/** llama.cpp keeps its layers in arrays of this length. */
export const maxLayers = 512;

/** The tallest of known models stand well below; above them products of two or three still fit 64 bits. */
const single: Readonly<Record<string, Range>> = {
  context_length: { least: 1, most: 2 ** 27 },
  embedding_length: { least: 1, most: 2 ** 20 },
  block_count: { least: 1, most: maxLayers },
  decoder_block_count: { least: 1, most: maxLayers },
  vocab_size: { least: 1, most: 2 ** 24 },
  expert_count: { least: 0, most: 1024 },
  pooling_type: { least: 0, most: 4 },
  "attention.key_length": { least: 1, most: 65_536 },
  "attention.value_length": { least: 1, most: 65_536 },
  "rope.dimension_count": { least: 0, most: 65_536 },
  "ssm.conv_kernel": { least: 0, most: 65_536 },
  "ssm.state_size": { least: 0, most: 65_536 },
  "ssm.inner_size": { least: 0, most: 2 ** 20 },
};

/** Zero heads is right where a layer has no attention, as in state-space models. */
const perLayer: Readonly<Record<string, Range>> = {
  "attention.head_count": { least: 0, most: 65_536 },
  "attention.head_count_kv": { least: 0, most: 65_536 },
  feed_forward_length: { least: 0, most: 2 ** 24 },
  expert_used_count: { least: 0, most: 1024 },
};

/** What native code multiplies to size its buffers, where the file gives it; a file may leave any of it out. */
export function checkDimensions(metadata: Metadata, architecture: string): void {
  for (const [name, range] of Object.entries(single)) findWhole(metadata, `${architecture}.${name}`, range);
  for (const [name, range] of Object.entries(perLayer)) {
    checkWholes(metadata, `${architecture}.${name}`, { ...range, longest: maxLayers });
  }
  refuseEmptyLayers(metadata, architecture);
}

/**
 * Native code ends the process at a tensor without a row. Of all layers, only those of state-space and recurrent
 * models have no heads, and only theirs and those of experts no part that feeds forward.
 */
function refuseEmptyLayers(metadata: Metadata, architecture: string): void {
  const keys = [...metadata.keys()];
  if (keys.some((key) => key.startsWith(`${architecture}.ssm.`) || key.startsWith(`${architecture}.wkv.`)))
    return;
  const hasExperts = Number(metadata.get(`${architecture}.expert_count`)?.value ?? 0) > 0;
  const filled = [
    "attention.head_count",
    "attention.head_count_kv",
    ...(hasExperts ? [] : ["feed_forward_length"]),
  ];
  for (const name of filled) {
    const key = `${architecture}.${name}`;
    const value = metadata.get(key)?.value;
    if (typeof value !== "object" && value !== undefined && Number(value) === 0) {
      refuseKey(key, `The value of ${quote(key)} is 0 for all layers, and a model of this kind needs some`);
    }
  }
}
