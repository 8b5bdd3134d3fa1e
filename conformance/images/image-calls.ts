/**
 * @module
 * Images through the complete program: sent over the Ollama, OpenAI and Anthropic APIs to a tiny model with a
 * projector, which runs in llama.cpp's own server, the only process that decodes images; and hostile images of many
 * kinds. `show` and CI run it as tests; the tests in `terminal/` use its server.
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

/** An endpoint that accepts images. */
export type ImageCall = {
  readonly path: string;
  readonly protocol: Protocol["name"];
  readonly body: (images: readonly SentImage[], stream: boolean) => Readonly<Record<string, unknown>>;
};

const prompt = "What do you see?";
/** Enough to distinguish two responses, and few enough that rounding does not change them. */
const maxTokens = 3;

const dataUrl = ({ bytes, mediaType }: SentImage): string =>
  `data:${mediaType};base64,${bytes.toString("base64")}`;

export const imageCalls: readonly ImageCall[] = [
  {
    path: "/api/chat",
    protocol: "ollama",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      messages: [
        { role: "user", content: prompt, images: images.map(({ bytes }) => bytes.toString("base64")) },
      ],
      think: false,
      options: { num_predict: maxTokens, temperature: 0 },
    }),
  },
  {
    path: "/api/generate",
    protocol: "ollama",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      prompt,
      images: images.map(dataUrl),
      think: false,
      options: { num_predict: maxTokens, temperature: 0 },
    }),
  },
  {
    path: "/v1/chat/completions",
    protocol: "openai",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
      messages: [openaiMessage(images)],
      reasoning_effort: "none",
      max_tokens: maxTokens,
      temperature: 0,
    }),
  },
  {
    path: "/v1/responses",
    protocol: "openai",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      input: [
        {
          role: "user",
          content: [
            ...images.map((image) => ({ type: "input_image", detail: "auto", image_url: dataUrl(image) })),
            { type: "input_text", text: prompt },
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
    protocol: "anthropic",
    body: (images, stream) => ({
      model: "seeing",
      stream,
      messages: [anthropicMessage(images)],
      max_tokens: maxTokens,
      temperature: 0,
    }),
  },
];

/** In the format of OpenAI, which llama.cpp's own server accepts too. */
export function openaiMessage(images: readonly SentImage[]): object {
  const parts = images.map((image) => ({ type: "image_url", image_url: { url: dataUrl(image) } }));
  return { role: "user", content: [...parts, { type: "text", text: prompt }] };
}

/** In the format of Anthropic. */
export function anthropicMessage(images: readonly SentImage[]): object {
  const blocks = images.map(({ bytes, mediaType }) => ({
    type: "image",
    source: { type: "base64", media_type: mediaType, data: bytes.toString("base64") },
  }));
  return { role: "user", content: [...blocks, { type: "text", text: prompt }] };
}

/** Hearth with a vision model and a text-only model, both in llama.cpp's own server. */
export async function startVisionServer(): Promise<TestServer> {
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({
    program: { kind: "xllamacpp", interpreter },
    onWarning: () => undefined,
  });
  return startTestServer({ models: { seeing: tinyVision, blind: tiny }, driver });
}

export type CallResponse = { readonly status: number; readonly contentType: string; readonly text: string };

export async function send(
  server: { readonly url: string },
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<CallResponse> {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
  const contentType = response.headers.get("content-type") ?? "";
  return { status: response.status, contentType, text: await response.text() };
}

/** The number of prompt tokens in a response of any of the APIs, streamed or not. */
export function promptTokensOf({ text }: CallResponse): number | undefined {
  const last = (name: string): number | undefined => {
    const found = [...text.matchAll(new RegExp(`"${name}":(\\d+)`, "gu"))].at(-1)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const counted = last("prompt_eval_count") ?? last("prompt_tokens") ?? last("input_tokens");
  // The Anthropic API counts cached tokens separately.
  return counted === undefined ? undefined : counted + (last("cache_read_input_tokens") ?? 0);
}
