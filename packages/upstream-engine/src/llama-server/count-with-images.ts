import type { Image } from "@hearth-and-keep/engine";
import { fieldsOf, numberOf } from "../wire/json-fields.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";

type SeeingPrompt = Extract<Prompt, { type: "images" }>;
type CountingParts = {
  readonly engine: SupervisedEngine;
  readonly prompts: Pick<Prompts, "tokenize">;
  readonly addsBeginning: boolean;
  readonly signal: AbortSignal;
};

/** The words between the images, as the engine cuts them, and the images. */
export async function countWithImages(prompt: SeeingPrompt, parts: CountingParts): Promise<number> {
  const counts = await Promise.all(
    prompt.pieces.map(async (piece) =>
      piece === "" ? 0 : (await parts.prompts.tokenize(piece, parts.signal)).length,
    ),
  );
  const words = counts.reduce((sum, each) => sum + each, parts.addsBeginning ? 1 : 0);
  return words + (await countImages(prompt.images, parts));
}

/** Only the engine knows how many tokens an image takes: asked for a count, it looks at them and computes nothing. */
async function countImages(images: readonly Image[], { engine, signal }: CountingParts): Promise<number> {
  const count = async (shown: readonly Image[]): Promise<number> => {
    const parts = shown.map(({ bytes, mediaType }) => ({
      type: "image_url",
      image_url: { url: `data:${mediaType};base64,${Buffer.from(bytes).toString("base64")}` },
    }));
    const body = { messages: [{ role: "user", content: [...parts, { type: "text", text: "x" }] }] };
    const question = { path: "/v1/chat/completions/input_tokens", body, hasImages: true };
    return numberOf(fieldsOf(await engine.ask(question, signal))["input_tokens"]) ?? 0;
  };
  return (await count(images)) - (await count([]));
}
