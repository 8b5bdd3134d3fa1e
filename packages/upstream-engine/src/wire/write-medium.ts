import type { AudioClip, Medium } from "@hearth-and-keep/engine";
import type { Fields } from "./json-fields.ts";

/** An image or sound as a part of an OpenAI message. */
export function writeMedium(medium: Medium): Fields {
  const base64 = Buffer.from(medium.bytes.buffer, medium.bytes.byteOffset, medium.bytes.length).toString(
    "base64",
  );
  if ("seconds" in medium) {
    return { type: "input_audio", input_audio: { data: base64, format: formats[medium.mediaType] } };
  }
  return { type: "image_url", image_url: { url: `data:${medium.mediaType};base64,${base64}` } };
}

const formats: Readonly<Record<AudioClip["mediaType"], string>> = {
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/flac": "flac",
};
