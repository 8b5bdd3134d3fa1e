import { FailureError } from "@hearth-and-keep/failures";
import { type ImageSource, parseImageSource, readImages } from "../../../images/read-images.ts";
import type { WireContent } from "./read-content.ts";
import type { ToolOutput } from "./read-items.ts";

/** Leaves room for those of the user; the limit of `readImages` is for both. */
const maxToolImages = 12;

/**
 * The images in the output of tools that a model can be shown: the newest ones, and only what can be decoded. An agent
 * sends them again with every request, so one that is left out must not fail the request.
 */
export async function selectToolImages(
  outputs: readonly ToolOutput[],
  signal: AbortSignal,
): Promise<readonly ImageSource[]> {
  const sources = outputs.flatMap(({ content, field }) => inlineImages(content, field));
  const selected: ImageSource[] = [];
  for (const source of sources.toReversed()) {
    if (selected.length === maxToolImages) break;
    if (await isReadable(source, signal)) selected.unshift(source);
  }
  return selected;
}

/** URLs are left out: a tool must not make this server fetch something. */
function inlineImages(content: WireContent, field: string): readonly ImageSource[] {
  const parts = typeof content === "string" ? [] : (content ?? []);
  return parts
    .flatMap(({ type, image_url: url }, index) =>
      type === "input_image" && typeof url === "string" && /^data:/iu.test(url.slice(0, 5))
        ? [parseSource(url, `${field}.${index}.image_url`)]
        : [],
    )
    .filter((source) => source !== undefined);
}

function parseSource(url: string, field: string): ImageSource | undefined {
  try {
    return parseImageSource(url, field);
  } catch (error) {
    if (error instanceof FailureError) return undefined;
    throw error;
  }
}

async function isReadable(source: ImageSource, signal: AbortSignal): Promise<boolean> {
  try {
    await readImages([source], { signal });
    return true;
  } catch (error) {
    if (error instanceof FailureError) return false;
    throw error;
  }
}
