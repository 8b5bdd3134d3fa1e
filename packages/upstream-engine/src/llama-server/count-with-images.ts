import type { Image } from "@hearth-and-keep/engine";
import { fieldsOf, numberOf } from "../wire/json-fields.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";

type ImagePrompt = Extract<Prompt, { type: "images" }>;
type CountDependencies = {
  readonly engine: SupervisedEngine;
  readonly prompts: Pick<Prompts, "tokenize">;
  readonly addsBeginning: boolean;
  readonly signal: AbortSignal;
};

/** Counts the tokens of the text segments between the images, and of the images. */
export async function countWithImages(prompt: ImagePrompt, dependencies: CountDependencies): Promise<number> {
  const { prompts, addsBeginning, signal } = dependencies;
  const counts = await Promise.all(
    prompt.segments.map(async (segment) =>
      segment === "" ? 0 : (await prompts.tokenize(segment, signal)).length,
    ),
  );
  const textTokens = counts.reduce((sum, each) => sum + each, addsBeginning ? 1 : 0);
  return textTokens + (await countImages(prompt.images, dependencies));
}

/** Only the engine knows how many tokens an image takes. Its counting endpoint decodes images but runs no inference. */
async function countImages(images: readonly Image[], { engine, signal }: CountDependencies): Promise<number> {
  const count = async (countedImages: readonly Image[]): Promise<number> => {
    const imageParts = countedImages.map(({ bytes, mediaType }) => ({
      type: "image_url",
      image_url: { url: `data:${mediaType};base64,${Buffer.from(bytes).toString("base64")}` },
    }));
    const body = { messages: [{ role: "user", content: [...imageParts, { type: "text", text: "x" }] }] };
    const request = { path: "/v1/chat/completions/input_tokens", body, hasImages: true };
    return numberOf(fieldsOf(await engine.request(request, signal))["input_tokens"]) ?? 0;
  };
  return (await count(images)) - (await count([]));
}
