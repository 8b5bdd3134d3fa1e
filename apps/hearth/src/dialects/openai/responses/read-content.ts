import type { Image } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { invalidField } from "../../../failures.ts";
import { omittedImageText } from "../../../images/attach-media.ts";
import {
  type ImageSource,
  type ImagesByField,
  imageAt,
  parseImageSource,
} from "../../../images/read-images.ts";
import { readTextFile } from "../read-file.ts";
import type { InputPart } from "./schema.ts";

export type Content = { readonly text: string; readonly images: readonly Image[] };

export type WireContent = string | readonly InputPart[] | null | undefined;

/** Every image of a message or tool output. */
export function contentImageSources(content: WireContent, field: string): readonly ImageSource[] {
  const parts = typeof content === "string" ? [] : (content ?? []);
  return parts.flatMap(({ type, image_url: url }, index) => {
    if (type !== "input_image") return [];
    const inside = `${field}.${index}.image_url`;
    if (typeof url === "string") return [parseImageSource(url, inside)];
    throw invalidField(inside, "is missing; send the image as a data URL or https URL");
  });
}

/** The text and images of a message. `field` is its path in the body. */
export function readContent(content: WireContent, field: string, images: ImagesByField): Content {
  if (content === null || content === undefined) return { text: "", images: [] };
  if (typeof content === "string") return { text: content, images: [] };
  const read = content.map((part, index) => readPart(part, `${field}.${index}`, images));
  return {
    text: read.flatMap(({ text }) => (text === undefined ? [] : [text])).join("\n"),
    images: read.flatMap(({ image }) => (image === undefined ? [] : [image])),
  };
}

/** The text of a message that may not contain images. */
export function readText(content: WireContent, field: string): string {
  if (contentImageSources(content, field).length > 0) {
    throw invalidField(field, "contains an image, but only text is supported here");
  }
  return readContent(content, field, new Map()).text;
}

type RepeatedContext = {
  readonly images: ImagesByField;
  /** Gets the types of what is replaced by a sentence. */
  readonly skippedItems: string[];
};

/**
 * The output of a tool, or an earlier message of the user. What the model cannot see is replaced by a sentence: an agent
 * sends it again with every request, so rejecting it would end the conversation.
 */
export function readRepeatedContent(content: WireContent, field: string, context: RepeatedContext): Content {
  if (content === null || content === undefined) return { text: "", images: [] };
  if (typeof content === "string") return { text: content, images: [] };
  const read = content.map((part, index) => readRepeatedPart(part, `${field}.${index}`, context));
  return {
    text: read.flatMap(({ text }) => (text === undefined ? [] : [text])).join("\n"),
    images: read.flatMap(({ image }) => (image === undefined ? [] : [image])),
  };
}

function readRepeatedPart(
  part: InputPart,
  field: string,
  { images, skippedItems }: RepeatedContext,
): ReadPart {
  const { type, filename } = part;
  if (type === "input_image") {
    const image = images.get(`${field}.image_url`);
    if (image !== undefined) return { image };
    skippedItems.push(type);
    return { text: omittedImageText };
  }
  try {
    return readPart(part, field, images);
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    skippedItems.push(type);
    const what = typeof filename === "string" ? `The file "${filename}"` : `Content of the type "${type}"`;
    return { text: `[${what} is left out here, because this model cannot read it]` };
  }
}

type ReadPart = { readonly text?: string; readonly image?: Image };

function readPart(part: InputPart, field: string, images: ImagesByField): ReadPart {
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
      return { image: imageAt(images, `${field}.image_url`) };
    case "input_file":
      return { text: readTextFile(part, field) };
    default:
      throw invalidField(`${field}.type`, `is "${part.type}", which is not a supported content type`);
  }
}
