import { crc32, deflateSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { testModel } from "../models/test-model.ts";
import { preparePython } from "../python/prepare-python.ts";
import { type LlamaServer, startLlamaServer } from "./start-llama-server.ts";

type ToolCall = { readonly function: { readonly name: string; readonly arguments: string } };
type ChatResponse = {
  readonly choices: readonly {
    readonly message: { readonly content: string; readonly tool_calls?: ToolCall[] };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
};

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather in a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string", maxLength: 12 } },
      required: ["city"],
    },
  },
};
const message = { role: "user", content: "How is the weather in Bern?" };

beforeAll(async () => {
  await preparePython();
  await testModel("tiny-llama.gguf");
}, 900_000);

test("the tiny llama gives the same output twice and stops at the token limit", async () => {
  await using server = await startTinyLlama();
  const request = { prompt: "The house", n_predict: 40, temperature: 0, cache_prompt: false };
  // The shape of llama.cpp's own endpoint.
  const complete = async () => (await post(server, "/completion", request)) as { content: string };
  const first = await complete();
  expect(first).toMatchObject({ stop_type: "limit", tokens_predicted: 40 });
  expect(first.content).toMatch(/^[\x20-\x7e]{40,}$/);
  expect((await complete()).content).toBe(first.content);
});

test("any text round-trips through the tiny llama's tokenizer unchanged", async () => {
  await using server = await startTinyLlama();
  const text = "Grüße, 東京! \u{1f600}\u200d \0\u0001\t\r\n  two spaces, e\u0301, <think> and \u{10ffff}";
  // The documented shape of llama.cpp's endpoint.
  const { tokens } = (await post(server, "/tokenize", { content: text })) as { tokens: number[] };
  expect(await post(server, "/detokenize", { tokens })).toEqual({ content: text });
  expect(tokens.length).toBeLessThan(Buffer.byteLength(text));
});

test("the chat template lists the tools only when there are any", async () => {
  await using server = await startTinyLlama();
  const messages = [{ role: "system", content: "Be brief." }, message];
  expect(await render(server, { messages })).toBe(
    "<|im_start|>system\nBe brief.<|im_end|>\n" +
      "<|im_start|>user\nHow is the weather in Bern?<|im_end|>\n<|im_start|>assistant\n",
  );
  const withTools = await render(server, { messages, tools: [weather] });
  expect(withTools).toMatch(/^<\|im_start\|>system\nBe brief\.\n\n.*<tools>\n\{.*"weather".*\}\n<\/tools>/s);
});

test("the chat template renders a tool call, its result and the preceding reasoning", async () => {
  await using server = await startTinyLlama();
  const call = { type: "function", id: "1", function: { name: "weather", arguments: '{"city":"Bern"}' } };
  const toolCall = { role: "assistant", content: null, reasoning_content: "I must ask.", tool_calls: [call] };
  const result = { role: "tool", tool_call_id: "1", content: "Sunny" };
  const prompt = await render(server, { messages: [message, toolCall, result], tools: [weather] });
  expect(prompt).toContain(
    "<|im_start|>assistant\n<think>\nI must ask.\n</think>\n\n" +
      '<tool_call>{"name": "weather", "arguments": {"city": "Bern"}}</tool_call><|im_end|>\n' +
      "<|im_start|>user\n<tool_response>\nSunny\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
  );
});

test("disabling thinking renders an empty reasoning block, enabling it does not", async () => {
  await using server = await startTinyLlama();
  const messages = [message];
  const off = await render(server, { messages, chat_template_kwargs: { enable_thinking: false } });
  expect(off).toMatch(/<\|im_start\|>assistant\n<think>\n\n<\/think>\n\n$/);
  const on = await render(server, { messages, chat_template_kwargs: { enable_thinking: true } });
  expect(on).toMatch(/<\|im_start\|>assistant\n$/);
});

test("llama.cpp parses a tool call from the tiny llama's output", async () => {
  await using server = await startTinyLlama();
  // Random weights never start a tool call; once the opening token is forced, the grammar produces the rest.
  // The documented shape of llama.cpp's endpoint.
  const { tokens } = (await post(server, "/tokenize", { content: "<tool_call>" })) as { tokens: number[] };
  const forced = { tool_choice: "required", logit_bias: tokens.map((token) => [token, 50]) };
  const response = await chat(server, { messages: [message], tools: [weather], max_tokens: 200, ...forced });
  const [call] = response.choices[0]?.message.tool_calls ?? [];
  expect(tokens).toHaveLength(1);
  expect(call?.function.name).toBe("weather");
  expect(JSON.parse(call?.function.arguments ?? "")).toEqual({ city: expect.any(String) });
});

test("with the tiny projector an image counts as sixteen tokens and changes the output", async () => {
  const projector = await testModel("tiny-projector.gguf");
  await using server = await startLlamaServer({ model: await testModel("tiny-llama.gguf"), projector });
  const plain = await chat(server, { messages: [message] });
  const red = await chat(server, { messages: [withImage([255, 0, 0])] });
  const blue = await chat(server, { messages: [withImage([0, 0, 255])] });
  expect(red.usage.prompt_tokens - plain.usage.prompt_tokens).toBe(16);
  expect(red.choices[0]?.message.content).not.toBe(plain.choices[0]?.message.content);
  expect(red.choices[0]?.message.content).not.toBe(blue.choices[0]?.message.content);
});

test("without a projector an image is rejected", async () => {
  await using server = await startTinyLlama();
  const response = await send(server, "/v1/chat/completions", { messages: [withImage([255, 0, 0])] });
  expect(response.ok).toBe(false);
  expect(await response.text()).toContain("image input is not supported");
});

async function startTinyLlama(): Promise<LlamaServer> {
  return startLlamaServer({ model: await testModel("tiny-llama.gguf") });
}

async function render(server: LlamaServer, request: object): Promise<string> {
  // The shape of llama.cpp's own endpoint.
  return ((await post(server, "/apply-template", request)) as { prompt: string }).prompt;
}

async function chat(server: LlamaServer, request: object): Promise<ChatResponse> {
  const limits = { max_tokens: 20, temperature: 0, ...request };
  // llama.cpp responds in OpenAI's format.
  return (await post(server, "/v1/chat/completions", limits)) as ChatResponse;
}

async function post(server: LlamaServer, path: string, request: object): Promise<unknown> {
  const response = await send(server, path, request);
  expect(response.status).toBe(200);
  return response.json();
}

async function send(server: LlamaServer, path: string, request: object): Promise<Response> {
  return fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(request) });
}

function withImage(colour: readonly [number, number, number]): object {
  const url = `data:image/png;base64,${drawPng(colour).toString("base64")}`;
  const content = [
    { type: "text", text: message.content },
    { type: "image_url", image_url: { url } },
  ];
  return { role: "user", content };
}

/** An image of one colour, 80 by 60. */
function drawPng(colour: readonly [number, number, number]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(80, 0);
  header.writeUInt32BE(60, 4);
  header.set([8, 2], 8);
  // Each row starts with its filter type, 0 for none.
  const row = Buffer.from([0, ...Array.from({ length: 80 }, () => colour).flat()]);
  const rows = deflateSync(Buffer.concat(Array.from({ length: 60 }, () => row)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), content]);
  const framing = Buffer.alloc(8);
  framing.writeUInt32BE(content.length, 0);
  framing.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([framing.subarray(0, 4), body, framing.subarray(4)]);
}
