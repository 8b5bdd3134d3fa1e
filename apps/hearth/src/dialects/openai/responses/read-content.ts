import type { Image } from "@hearth-and-keep/engine";
import { decodeBase64, splitDataUrl } from "../../../images/base64.ts";
import { type ImageSource, type ImagesByPlace, imageAt, sourceOf } from "../../../images/read-images.ts";
import { invalid } from "./invalid.ts";
import type { InputPart } from "./schema.ts";

export type Content = { readonly text: string; readonly images: readonly Image[] };

export type WrittenContent = string | readonly InputPart[] | null | undefined;

/** Where the images of a message or a tool's output are, before any of them is read. */
export function contentImageSources(content: WrittenContent, place: string): readonly ImageSource[] {
  const parts = typeof content === "string" ? [] : (content ?? []);
  return parts.flatMap(({ type, image_url: url }, index) => {
    if (type !== "input_image") return [];
    const inside = `${place}.${index}.image_url`;
    if (typeof url === "string") return [sourceOf(url, inside)];
    throw invalid(inside, "is missing; images come as data URLs");
  });
}

/** What a message says. `place` is where it stands in the body. */
export function readContent(content: WrittenContent, place: string, images: ImagesByPlace): Content {
  if (content === null || content === undefined) return { text: "", images: [] };
  if (typeof content === "string") return { text: content, images: [] };
  const read = content.map((part, index) => readPart(part, `${place}.${index}`, images));
  return {
    text: read.flatMap(({ text }) => (text === undefined ? [] : [text])).join("\n"),
    images: read.flatMap(({ image }) => (image === undefined ? [] : [image])),
  };
}

/** The same where only words can stand. */
export function readText(content: WrittenContent, place: string): string {
  if (contentImageSources(content, place).length > 0) {
    throw invalid(place, "holds an image where only text can stand");
  }
  return readContent(content, place, new Map()).text;
}

type ReadPart = { readonly text?: string; readonly image?: Image };

function readPart(part: InputPart, place: string, images: ImagesByPlace): ReadPart {
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
      return { image: imageAt(images, `${place}.image_url`) };
    case "input_file":
      return { text: readFile(part, place) };
    default:
      throw invalid(`${place}.type`, `names no part that can be read: "${part.type}"`);
  }
}

function readFile({ file_data: url, filename }: InputPart, place: string): string {
  if (typeof url !== "string") {
    throw invalid(`${place}.file_data`, "is missing; files come with their content in the request");
  }
  const inline = splitDataUrl(url);
  const bytes = inline === undefined ? undefined : decodeBase64(inline.base64);
  if (bytes === undefined) {
    throw invalid(`${place}.file_data`, 'must be a data URL of the form "data:<type>;base64,<bytes>"');
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return typeof filename === "string" ? `${filename}:\n${text}` : text;
  } catch {
    throw invalid(`${place}.file_data`, "is no text; only text files can be read");
  }
}
