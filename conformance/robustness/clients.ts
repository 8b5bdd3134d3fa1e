import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";

export type ClientRequest = {
  readonly model: string;
  readonly text: string;
  readonly maxTokens: number;
  /** How often the client asks again by itself; never, unless told. */
  readonly maxRetries?: number;
};

/** One way in which an official client asks for an answer, giving its text piece by piece. */
export type Speaker = {
  readonly name: string;
  /** Knows no turns: the model goes on where the text ends. */
  readonly isPlain?: true;
  readonly ask: (url: string, asked: ClientRequest) => AsyncIterable<string>;
};

export const speakers: readonly Speaker[] = [
  { name: "ollama generate", ask: askOllamaGenerate },
  { name: "ollama chat", ask: askOllamaChat },
  { name: "openai chat.completions", ask: askChatCompletions },
  { name: "openai completions", isPlain: true, ask: askCompletions },
  { name: "openai responses", ask: askResponses },
  { name: "anthropic messages", ask: askMessages },
  { name: "anthropic messages at /alt", ask: (url, asked) => askMessages(`${url}/alt`, asked) },
  { name: "anthropic messages.stream", ask: askMessagesByHelper },
];

/** What the models of these tests are told of a turn. */
function turnOf({ text }: ClientRequest) {
  return { role: "user", content: text } as const;
}

async function* askOllamaGenerate(
  host: string,
  { model, text, maxTokens }: ClientRequest,
): AsyncGenerator<string> {
  const options = { temperature: 0, num_predict: maxTokens };
  const stream = await new Ollama({ host }).generate({ model, prompt: text, stream: true, options });
  for await (const { response } of stream) yield response ?? "";
}

async function* askOllamaChat(host: string, asked: ClientRequest): AsyncGenerator<string> {
  const options = { temperature: 0, num_predict: asked.maxTokens };
  const { model } = asked;
  const stream = await new Ollama({ host }).chat({
    model,
    messages: [turnOf(asked)],
    stream: true,
    options,
  });
  for await (const { message } of stream) yield message.content;
}

function openaiAt(url: string, { maxRetries = 0 }: ClientRequest): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries });
}

async function* askChatCompletions(url: string, asked: ClientRequest): AsyncGenerator<string> {
  const stream = await openaiAt(url, asked).chat.completions.create({
    model: asked.model,
    messages: [turnOf(asked)],
    max_completion_tokens: asked.maxTokens,
    temperature: 0,
    stream: true,
  });
  for await (const { choices } of stream) yield choices[0]?.delta.content ?? "";
}

async function* askCompletions(url: string, asked: ClientRequest): AsyncGenerator<string> {
  const { model, text, maxTokens } = asked;
  const stream = await openaiAt(url, asked).completions.create({
    model,
    prompt: text,
    max_tokens: maxTokens,
    temperature: 0,
    stream: true,
  });
  for await (const { choices } of stream) yield choices[0]?.text ?? "";
}

async function* askResponses(url: string, asked: ClientRequest): AsyncGenerator<string> {
  const stream = await openaiAt(url, asked).responses.create({
    model: asked.model,
    input: asked.text,
    max_output_tokens: asked.maxTokens,
    temperature: 0,
    stream: true,
  });
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") yield event.delta;
  }
}

function anthropicAt(baseURL: string, { maxRetries = 0 }: ClientRequest): Anthropic {
  return new Anthropic({ baseURL, apiKey: "any", maxRetries });
}

function messagesOf(asked: ClientRequest) {
  return { model: asked.model, messages: [turnOf(asked)], max_tokens: asked.maxTokens, temperature: 0 };
}

async function* askMessages(url: string, asked: ClientRequest): AsyncGenerator<string> {
  const stream = await anthropicAt(url, asked).messages.create({ ...messagesOf(asked), stream: true });
  for await (const event of stream) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
  }
}

async function* askMessagesByHelper(url: string, asked: ClientRequest): AsyncGenerator<string> {
  const stream = anthropicAt(url, asked).messages.stream(messagesOf(asked));
  for await (const event of stream) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
  }
  await stream.finalMessage();
}

export async function collect(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}
