import { quote } from "../model-file-error.ts";
import type { Metadata } from "../reading/read-header.ts";
import { maxLayers } from "./check-dimensions.ts";
import { checkWholes, findList, findWhole, type Range, refuseKey } from "./metadata-values.ts";

/** Native code has tables of 1,024 places for the patches along one side of an image. */
const mostPatchesOnASide = 1024;

const ranges: Readonly<Record<string, Range>> = {
  "vision.image_size": { least: 1, most: 65_536 },
  "vision.patch_size": { least: 1, most: 4096 },
  "vision.embedding_length": { least: 1, most: 2 ** 20 },
  "vision.feed_forward_length": { least: 0, most: 2 ** 24 },
  "vision.projection_dim": { least: 0, most: 2 ** 20 },
  "vision.block_count": { least: 0, most: maxLayers },
  "vision.attention.head_count": { least: 1, most: 65_536 },
  "audio.num_mel_bins": { least: 1, most: 4096 },
  "audio.embedding_length": { least: 1, most: 2 ** 20 },
  "audio.feed_forward_length": { least: 0, most: 2 ** 24 },
  "audio.projection_dim": { least: 0, most: 2 ** 20 },
  "audio.block_count": { least: 0, most: maxLayers },
  "audio.attention.head_count": { least: 1, most: 65_536 },
};

/** A projector of images or sound, which llama.cpp loads beside a model. It divides by several of these. */
export function checkProjector(metadata: Metadata): void {
  for (const [name, range] of Object.entries(ranges)) {
    checkWholes(metadata, `clip.${name}`, { ...range, longest: maxLayers });
  }
  checkPatches(metadata);
  for (const key of ["clip.vision.image_mean", "clip.vision.image_std"]) checkColours(metadata, key);
}

function checkPatches(metadata: Metadata): void {
  const key = "clip.vision.image_size";
  const imageSize = findWhole(metadata, key, { least: 1, most: 65_536 });
  const patchSize = findWhole(metadata, "clip.vision.patch_size", { least: 1, most: 4096 });
  if (imageSize === undefined || patchSize === undefined) return;
  if (patchSize <= imageSize && imageSize / patchSize <= mostPatchesOnASide) return;
  refuseKey(key, `An image of ${imageSize} points cannot be cut into patches of ${patchSize}`);
}

/** One number for each of red, green and blue, read without asking how many there are. */
function checkColours(metadata: Metadata, key: string): void {
  const list = findList(metadata, key);
  if (list === undefined || (list.kind === "numbers" && list.type === "float32" && list.length === 3)) return;
  refuseKey(key, `The value of ${quote(key)} must be three numbers of type float32`);
}
