import { FailureError } from "@hearth-and-keep/failures";
import { type ImageSource, parseImageSource } from "../../../images/read-images.ts";
import type { WireContent } from "./read-content.ts";
import type { InputItem } from "./schema.ts";

/** Content that a client sends again with every request. */
export type RepeatedContent = {
  readonly content: WireContent;
  /** Its path in the body. */
  readonly field: string;
  /** A tool must not make this server fetch something. */
  readonly allowsUrls: boolean;
};

/** Other items may have any role and content. */
export function isUserMessage({ type, role }: InputItem): boolean {
  return (type ?? "message") === "message" && role === "user";
}

/** The images in repeated content that may be shown to the model; what is malformed is left out. */
export function historyImageSources(contents: readonly RepeatedContent[]): readonly ImageSource[] {
  return contents.flatMap(({ content, field, allowsUrls }) => {
    const parts = typeof content === "string" ? [] : (content ?? []);
    return parts
      .flatMap(({ type, image_url: url }, index) =>
        type === "input_image" && typeof url === "string" && (allowsUrls || /^data:/iu.test(url.slice(0, 5)))
          ? [parseSource(url, `${field}.${index}.image_url`)]
          : [],
      )
      .filter((source) => source !== undefined);
  });
}

function parseSource(url: string, field: string): ImageSource | undefined {
  try {
    return parseImageSource(url, field);
  } catch (error) {
    if (error instanceof FailureError) return undefined;
    throw error;
  }
}
