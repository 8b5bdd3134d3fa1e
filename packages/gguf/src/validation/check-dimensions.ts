import { quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import { checkIntegers, findInteger, type IntegerRange, rejectKey } from "./metadata-values.ts";

/** The size of llama.cpp's per-layer arrays. */
export const maxLayers = 512;

/** Far above any known model, yet low enough that products of two or three of them fit 64 bits. */
const modelRanges: Readonly<Record<string, IntegerRange>> = {
  context_length: { min: 1, max: 2 ** 27 },
  embedding_length: { min: 1, max: 2 ** 20 },
  block_count: { min: 1, max: maxLayers },
  decoder_block_count: { min: 1, max: maxLayers },
  vocab_size: { min: 1, max: 2 ** 24 },
  expert_count: { min: 0, max: 1024 },
  pooling_type: { min: 0, max: 4 },
  "attention.key_length": { min: 1, max: 65_536 },
  "attention.value_length": { min: 1, max: 65_536 },
  "rope.dimension_count": { min: 0, max: 65_536 },
  "ssm.conv_kernel": { min: 0, max: 65_536 },
  "ssm.state_size": { min: 0, max: 65_536 },
  "ssm.inner_size": { min: 0, max: 2 ** 20 },
};

/** Zero heads are valid for a layer without attention, as in state-space models. */
const layerRanges: Readonly<Record<string, IntegerRange>> = {
  "attention.head_count": { min: 0, max: 65_536 },
  "attention.head_count_kv": { min: 0, max: 65_536 },
  feed_forward_length: { min: 0, max: 2 ** 24 },
  expert_used_count: { min: 0, max: 1024 },
};

/** Checks the dimensions that native code multiplies to size its buffers. A file may omit any of them. */
export function checkDimensions(metadata: Metadata, architecture: string): void {
  for (const [name, range] of Object.entries(modelRanges))
    findInteger(metadata, `${architecture}.${name}`, range);
  for (const [name, range] of Object.entries(layerRanges)) {
    checkIntegers(metadata, `${architecture}.${name}`, { ...range, maxLength: maxLayers });
  }
  rejectEmptyLayers(metadata, architecture);
}

/**
 * Native code aborts the process on a tensor without rows. Only layers of state-space and recurrent models have no
 * attention heads, and only those and mixture-of-experts layers have no feed-forward network.
 */
function rejectEmptyLayers(metadata: Metadata, architecture: string): void {
  const keys = [...metadata.keys()];
  if (keys.some((key) => key.startsWith(`${architecture}.ssm.`) || key.startsWith(`${architecture}.wkv.`)))
    return;
  const hasExperts = Number(metadata.get(`${architecture}.expert_count`)?.value ?? 0) > 0;
  const nonZeroNames = [
    "attention.head_count",
    "attention.head_count_kv",
    ...(hasExperts ? [] : ["feed_forward_length"]),
  ];
  for (const name of nonZeroNames) {
    const key = `${architecture}.${name}`;
    const value = metadata.get(key)?.value;
    if (typeof value !== "object" && value !== undefined && Number(value) === 0) {
      rejectKey(
        key,
        `The value of ${quote(key)} is 0 for all layers, but this architecture needs at least 1`,
      );
    }
  }
}
