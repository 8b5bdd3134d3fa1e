import type { Image } from "@hearth-and-keep/llama-engine";
import { invalid } from "./invalid.ts";
import type { InputPart } from "./schema.ts";

export type Content = { readonly text: string; readonly images: readonly Image[] };

/** What a message or a tool's output says. `place` is where it stands in the body. */
export function readContent(
  content: string | readonly InputPart[] | null | undefined,
  place: string,
): Content {
  if (content === null || content === undefined) return { text: "", images: [] };
  if (typeof content === "string") return { text: content, images: [] };
  const read = content.map((part, index) => readPart(part, `${place}.${index}`));
  return {
    text: read.flatMap(({ text }) => (text === undefined ? [] : [text])).join("\n"),
    images: read.flatMap(({ image }) => (image === undefined ? [] : [image])),
  };
}

/** The same where only words can stand. */
export function readText(content: string | readonly InputPart[] | null | undefined, place: string): string {
  const { text, images } = readContent(content, place);
  if (images.length > 0) throw invalid(place, "holds an image where only text can stand");
  return text;
}

type ReadPart = { readonly text?: string; readonly image?: Image };

function readPart(part: InputPart, place: string): ReadPart {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
    case "summary_text":
    case "reasoning_text":
      return { text: part.text ?? "" };
    case "refusal":
      return { text: part.refusal ?? "" };
    case "input_image":
      return { image: readImage(part, place) };
    case "input_file":
      return { text: readFile(part, place) };
    default:
      throw invalid(`${place}.type`, `names no part that can be read: "${part.type}"`);
  }
}

function readImage({ image_url: url }: InputPart, place: string): Image {
  if (typeof url !== "string") throw invalid(`${place}.image_url`, "is missing; images come as data URLs");
  const { mediaType, bytes } = readDataUrl(url, `${place}.image_url`);
  if (!mediaType.startsWith("image/")) throw invalid(`${place}.image_url`, `is no image: "${mediaType}"`);
  return { bytes, mediaType };
}

function readFile({ file_data: url, filename }: InputPart, place: string): string {
  if (typeof url !== "string") {
    throw invalid(`${place}.file_data`, "is missing; files come with their content in the request");
  }
  const { bytes } = readDataUrl(url, `${place}.file_data`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return typeof filename === "string" ? `${filename}:\n${text}` : text;
  } catch {
    throw invalid(`${place}.file_data`, "is no text; only text files can be read");
  }
}

type DataUrl = { readonly mediaType: string; readonly bytes: Uint8Array };

function readDataUrl(url: string, place: string): DataUrl {
  // Looked at in pieces: a pattern over the whole would run over megabytes.
  const comma = url.indexOf(",");
  const [mediaType = "", ...parameters] = url.slice("data:".length, comma).split(";");
  if (!url.startsWith("data:") || comma === -1 || parameters.at(-1) !== "base64") {
    throw invalid(place, 'must be a data URL of the form "data:<type>;base64,<bytes>"');
  }
  const bytes = Buffer.from(url.slice(comma + 1), "base64");
  if (bytes.length === 0) throw invalid(place, "holds no bytes");
  return { mediaType: mediaType.toLowerCase(), bytes };
}
