import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";

export type ClientRequest = {
  readonly model: string;
  readonly text: string;
  readonly maxTokens: number;
  /** How often the client retries by itself; never by default. */
  readonly maxRetries?: number;
};

/** A streaming call of an official client, which yields the text in chunks. */
export type ClientCall = {
  readonly name: string;
  /** Has no messages: the model continues the text. */
  readonly isPlain?: true;
  readonly stream: (url: string, request: ClientRequest) => AsyncIterable<string>;
};

export const clientCalls: readonly ClientCall[] = [
  { name: "ollama generate", stream: streamOllamaGenerate },
  { name: "ollama chat", stream: streamOllamaChat },
  { name: "openai chat.completions", stream: streamChatCompletions },
  { name: "openai completions", isPlain: true, stream: streamCompletions },
  { name: "openai responses", stream: streamResponses },
  { name: "anthropic messages", stream: streamMessages },
  { name: "anthropic messages at /alt", stream: (url, request) => streamMessages(`${url}/alt`, request) },
  { name: "anthropic messages.stream", stream: streamMessagesByHelper },
];

function userMessage({ text }: ClientRequest) {
  return { role: "user", content: text } as const;
}

async function* streamOllamaGenerate(
  host: string,
  { model, text, maxTokens }: ClientRequest,
): AsyncGenerator<string> {
  const options = { temperature: 0, num_predict: maxTokens };
  const stream = await new Ollama({ host }).generate({ model, prompt: text, stream: true, options });
  for await (const { response } of stream) yield response ?? "";
}

async function* streamOllamaChat(host: string, request: ClientRequest): AsyncGenerator<string> {
  const options = { temperature: 0, num_predict: request.maxTokens };
  const { model } = request;
  const stream = await new Ollama({ host }).chat({
    model,
    messages: [userMessage(request)],
    stream: true,
    options,
  });
  for await (const { message } of stream) yield message.content;
}

function openaiAt(url: string, { maxRetries = 0 }: ClientRequest): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries });
}

async function* streamChatCompletions(url: string, request: ClientRequest): AsyncGenerator<string> {
  const stream = await openaiAt(url, request).chat.completions.create({
    model: request.model,
    messages: [userMessage(request)],
    max_completion_tokens: request.maxTokens,
    temperature: 0,
    stream: true,
  });
  for await (const { choices } of stream) yield choices[0]?.delta.content ?? "";
}

async function* streamCompletions(url: string, request: ClientRequest): AsyncGenerator<string> {
  const { model, text, maxTokens } = request;
  const stream = await openaiAt(url, request).completions.create({
    model,
    prompt: text,
    max_tokens: maxTokens,
    temperature: 0,
    stream: true,
  });
  for await (const { choices } of stream) yield choices[0]?.text ?? "";
}

async function* streamResponses(url: string, request: ClientRequest): AsyncGenerator<string> {
  const stream = await openaiAt(url, request).responses.create({
    model: request.model,
    input: request.text,
    max_output_tokens: request.maxTokens,
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

function messagesOf(request: ClientRequest) {
  return {
    model: request.model,
    messages: [userMessage(request)],
    max_tokens: request.maxTokens,
    temperature: 0,
  };
}

async function* streamMessages(url: string, request: ClientRequest): AsyncGenerator<string> {
  const stream = await anthropicAt(url, request).messages.create({ ...messagesOf(request), stream: true });
  for await (const event of stream) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
  }
}

async function* streamMessagesByHelper(url: string, request: ClientRequest): AsyncGenerator<string> {
  const stream = anthropicAt(url, request).messages.stream(messagesOf(request));
  for await (const event of stream) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
  }
  await stream.finalMessage();
}

export async function collect(chunks: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk;
  return text;
}
