/**
 * @module
 * Images through the whole program: sent in the words of each family into a tiny model with a projector, which
 * llama.cpp's own server runs and in whose process alone anything is decoded; and hostile images of every sort.
 * Nothing imports it; `show` and CI run it as tests.
 */

import { preparePython } from "@hearth-and-keep/test-servers";
import { createLlamaServerDriver } from "@hearth-and-keep/upstream-engine";
import type { Protocol } from "../../apps/hearth/src/protocol.ts";
import {
  startTestServer,
  type TestServer,
  tiny,
  tinyVision,
} from "../../apps/hearth/src/test/start-test-server.ts";

export type SentImage = { readonly bytes: Buffer; readonly mediaType: string };

/** One way to show images to a model. */
export type ImageCall = {
  readonly path: string;
  readonly family: Protocol["name"];
  readonly body: (images: readonly SentImage[], stream: boolean) => Readonly<Record<string, unknown>>;
};

const question = "What do you see?";
/** Enough to tell two answers apart, and few enough that rounding does not. */
const maxTokens = 3;

const dataUrl = ({ bytes, mediaType }: SentImage): string =>
  `data:${mediaType};base64,${bytes.toString("base64")}`;

export const imageCalls: readonly ImageCall[] = [
  {
    path: "/api/chat",
    family: "ollama",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      messages: [
        { role: "user", content: question, images: images.map(({ bytes }) => bytes.toString("base64")) },
      ],
      think: false,
      options: { num_predict: maxTokens, temperature: 0 },
    }),
  },
  {
    path: "/api/generate",
    family: "ollama",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      prompt: question,
      images: images.map(dataUrl),
      think: false,
      options: { num_predict: maxTokens, temperature: 0 },
    }),
  },
  {
    path: "/v1/chat/completions",
    family: "openai",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
      messages: [chatMessage(images)],
      reasoning_effort: "none",
      max_tokens: maxTokens,
      temperature: 0,
    }),
  },
  {
    path: "/v1/responses",
    family: "openai",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      input: [
        {
          role: "user",
          content: [
            ...images.map((image) => ({ type: "input_image", detail: "auto", image_url: dataUrl(image) })),
            { type: "input_text", text: question },
          ],
        },
      ],
      reasoning: { effort: "none" },
      max_output_tokens: 16,
      temperature: 0,
    }),
  },
  {
    path: "/alt/v1/messages",
    family: "anthropic",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      messages: [messagesMessage(images)],
      max_tokens: maxTokens,
      temperature: 0,
    }),
  },
];

/** As OpenAI's clients write it; llama.cpp's own server is asked in these words too. */
export function chatMessage(images: readonly SentImage[]): object {
  const parts = images.map((image) => ({ type: "image_url", image_url: { url: dataUrl(image) } }));
  return { role: "user", content: [...parts, { type: "text", text: question }] };
}

/** As Anthropic's clients write it. */
export function messagesMessage(images: readonly SentImage[]): object {
  const blocks = images.map(({ bytes, mediaType }) => ({
    type: "image",
    source: { type: "base64", media_type: mediaType, data: bytes.toString("base64") },
  }));
  return { role: "user", content: [...blocks, { type: "text", text: question }] };
}

/** Hearth with a model that sees and one that does not, both in llama.cpp's own server. */
export async function startSeeingServer(): Promise<TestServer> {
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({
    program: { kind: "xllamacpp", interpreter },
    onWarning: () => undefined,
  });
  return startTestServer({ models: { seeing: tinyVision, blind: tiny }, driver });
}

export type CallAnswer = { readonly status: number; readonly contentType: string; readonly text: string };

export async function send(
  server: { readonly url: string },
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<CallAnswer> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  const contentType = response.headers.get("content-type") ?? "";
  return { status: response.status, contentType, text: await response.text() };
}

/** How many tokens of prompt an answer says it had, streamed or not, whatever the family calls them. */
export function promptTokensOf({ text }: CallAnswer): number | undefined {
  const last = (name: string): number | undefined => {
    const found = [...text.matchAll(new RegExp(`"${name}":(\\d+)`, "gu"))].at(-1)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const written = last("prompt_eval_count") ?? last("prompt_tokens") ?? last("input_tokens");
  // The messages family tells apart what was read before.
  return written === undefined ? undefined : written + (last("cache_read_input_tokens") ?? 0);
}
