import type { Image } from "@hearth-and-keep/llama-engine";
import { requestFailure } from "../../../failures.ts";

const base64Text = /^[A-Za-z0-9+/_-]*={0,2}$/u;
const dataUrlHead = /^data:[^,]{0,128};base64,/u;

/** What the first bytes of each kind of picture are. */
const kinds: readonly { readonly mediaType: string; readonly sign: RegExp }[] = [
  { mediaType: "image/png", sign: /^\x89PNG/u },
  { mediaType: "image/jpeg", sign: /^\xFF\xD8\xFF/u },
  { mediaType: "image/gif", sign: /^GIF8/u },
  { mediaType: "image/webp", sign: /^RIFF.{4}WEBP/su },
  { mediaType: "image/bmp", sign: /^BM/u },
];

/** Pictures come as bare base64; which kind one is, its first bytes tell. */
export function readImages(images: readonly string[] | null | undefined, place: string): readonly Image[] {
  return (images ?? []).map((text, index) => {
    const bare = text.replace(dataUrlHead, "").replaceAll(/\s/gu, "");
    const bytes = Buffer.from(bare, "base64");
    if (!base64Text.test(bare) || bytes.length === 0) {
      throw requestFailure({
        kind: "request-invalid",
        place: `${place}.${index}`,
        reason: "is no picture in base64",
      });
    }
    return { bytes, mediaType: mediaTypeOf(bytes) };
  });
}

function mediaTypeOf(bytes: Buffer): string {
  const start = bytes.toString("latin1", 0, 16);
  return kinds.find(({ sign }) => sign.test(start))?.mediaType ?? "application/octet-stream";
}
