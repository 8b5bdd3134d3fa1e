import type { Image } from "@hearth-and-keep/llama-engine";
import { requestFailure } from "../../failures.ts";
import type { ImageBlock } from "./schema.ts";

const mediaTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

export function readImage({ source }: ImageBlock, place: string): Image {
  if (source.type !== "base64") {
    throw invalid(`${place}.source.type`, `must be "base64": this server fetches nothing`);
  }
  const mediaType = source.media_type.toLowerCase();
  if (!mediaTypes.includes(mediaType)) {
    throw invalid(`${place}.source.media_type`, `must be one of ${mediaTypes.join(", ")}`);
  }
  return { bytes: readBase64(source.data, `${place}.source.data`), mediaType };
}

/** Node's own decoder leaves out what is no base64 and says nothing. */
export function readBase64(text: string, place: string): Uint8Array {
  const bare = text.replaceAll(/\s/gu, "");
  if (bare === "" || !/^[\w+/-]*={0,2}$/u.test(bare)) throw invalid(place, "must be base64");
  return Buffer.from(bare, "base64");
}

function invalid(place: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", place, reason });
}
