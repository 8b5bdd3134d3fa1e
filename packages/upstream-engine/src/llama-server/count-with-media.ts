import type { Medium } from "@hearth-and-keep/engine";
import { fieldsOf, numberOf } from "../wire/json-fields.ts";
import { writeMedium } from "../wire/write-medium.ts";
import type { Prompt, Prompts } from "./prompts.ts";
import type { SupervisedEngine } from "./supervise-engine.ts";
import { watchMedia } from "./watch-engine.ts";

type MediaPrompt = Extract<Prompt, { type: "media" }>;
type CountDependencies = {
  readonly engine: SupervisedEngine;
  readonly prompts: Pick<Prompts, "tokenize">;
  readonly addsBeginning: boolean;
  readonly signal: AbortSignal;
};

/** Counts the tokens of the text segments between the media, and of the media. */
export async function countWithMedia(prompt: MediaPrompt, dependencies: CountDependencies): Promise<number> {
  const { prompts, addsBeginning, signal } = dependencies;
  const counts = await Promise.all(
    prompt.segments.map(async (segment) =>
      segment === "" ? 0 : (await prompts.tokenize(segment, signal)).length,
    ),
  );
  const textTokens = counts.reduce((sum, each) => sum + each, addsBeginning ? 1 : 0);
  return textTokens + (await countMedia(prompt.media, dependencies));
}

/** Only the engine knows how many tokens media take. Its counting endpoint decodes them but runs no inference. */
async function countMedia(media: readonly Medium[], { engine, signal }: CountDependencies): Promise<number> {
  const count = async (countedMedia: readonly Medium[]): Promise<number> => {
    const content = [...countedMedia.map(writeMedium), { type: "text", text: "x" }];
    const body = { messages: [{ role: "user", content }] };
    const request = { path: "/v1/chat/completions/input_tokens", body, media: watchMedia(countedMedia) };
    return numberOf(fieldsOf(await engine.request(request, signal))["input_tokens"]) ?? 0;
  };
  return (await count(media)) - (await count([]));
}
