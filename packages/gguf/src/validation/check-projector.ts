import { quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import { maxLayers } from "./check-dimensions.ts";
import { checkIntegers, findInteger, findList, type IntegerRange, rejectKey } from "./metadata-values.ts";

/** Native code has tables of 1,024 entries for the patches along one side of an image. */
const maxPatchesPerSide = 1024;

const ranges: Readonly<Record<string, IntegerRange>> = {
  "vision.image_size": { min: 1, max: 65_536 },
  "vision.patch_size": { min: 1, max: 4096 },
  "vision.embedding_length": { min: 1, max: 2 ** 20 },
  "vision.feed_forward_length": { min: 0, max: 2 ** 24 },
  "vision.projection_dim": { min: 0, max: 2 ** 20 },
  "vision.block_count": { min: 0, max: maxLayers },
  "vision.attention.head_count": { min: 1, max: 65_536 },
  "audio.num_mel_bins": { min: 1, max: 4096 },
  "audio.embedding_length": { min: 1, max: 2 ** 20 },
  "audio.feed_forward_length": { min: 0, max: 2 ** 24 },
  "audio.projection_dim": { min: 0, max: 2 ** 20 },
  "audio.block_count": { min: 0, max: maxLayers },
  "audio.attention.head_count": { min: 1, max: 65_536 },
  "audio.projector.stack_factor": { min: 1, max: 4096 },
};

/**
 * Checks an image or audio projector, which llama.cpp loads alongside a model. It divides by several of these values.
 */
export function checkProjector(metadata: Metadata): void {
  for (const [name, range] of Object.entries(ranges)) {
    checkIntegers(metadata, `clip.${name}`, { ...range, maxLength: maxLayers });
  }
  checkPatches(metadata);
  for (const key of ["clip.vision.image_mean", "clip.vision.image_std"]) checkColorChannels(metadata, key);
}

function checkPatches(metadata: Metadata): void {
  const key = "clip.vision.image_size";
  const imageSize = findInteger(metadata, key, { min: 1, max: 65_536 });
  const patchSize = findInteger(metadata, "clip.vision.patch_size", { min: 1, max: 4096 });
  if (imageSize === undefined || patchSize === undefined) return;
  if (patchSize <= imageSize && imageSize / patchSize <= maxPatchesPerSide) return;
  rejectKey(key, `An image of ${imageSize} pixels cannot be split into patches of ${patchSize} pixels`);
}

/** Native code reads one number each for red, green and blue without checking the length of the array. */
function checkColorChannels(metadata: Metadata, key: string): void {
  const list = findList(metadata, key);
  if (list === undefined || (list.kind === "numbers" && list.type === "float32" && list.length === 3)) return;
  rejectKey(key, `The value of ${quote(key)} must be three numbers of type float32`);
}
