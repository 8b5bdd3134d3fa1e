import { crc32, deflateSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { testModel } from "../models/test-model.ts";
import { preparePython } from "../python/prepare-python.ts";
import { type LlamaServer, startLlamaServer } from "./start-llama-server.ts";

type ToolCall = { readonly function: { readonly name: string; readonly arguments: string } };
type ChatAnswer = {
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
const question = { role: "user", content: "How is the weather in Bern?" };

beforeAll(async () => {
  await preparePython();
  await testModel("tiny-llama.gguf");
}, 900_000);

test("the tiny llama writes the same text twice and ends where the limit says", async () => {
  await using server = await startTinyLlama();
  const request = { prompt: "The house", n_predict: 40, temperature: 0, cache_prompt: false };
  // The shape of llama.cpp's own endpoint.
  const complete = async () => (await post(server, "/completion", request)) as { content: string };
  const first = await complete();
  expect(first).toMatchObject({ stop_type: "limit", tokens_predicted: 40 });
  expect(first.content).toMatch(/^[\x20-\x7e]{40,}$/);
  expect((await complete()).content).toBe(first.content);
});

test("any text goes through the tiny llama's tokens and back unchanged", async () => {
  await using server = await startTinyLlama();
  const text = "Grüße, 東京! \u{1f600}\u200d \0\u0001\t\r\n  two spaces, e\u0301, <think> and \u{10ffff}";
  // The shape llama.cpp documents for this address.
  const { tokens } = (await post(server, "/tokenize", { content: text })) as { tokens: number[] };
  expect(await post(server, "/detokenize", { tokens })).toEqual({ content: text });
  expect(tokens.length).toBeLessThan(Buffer.byteLength(text));
});

test("the chat template tells the tools, and without tools does not", async () => {
  await using server = await startTinyLlama();
  const messages = [{ role: "system", content: "Be brief." }, question];
  expect(await render(server, { messages })).toBe(
    "<|im_start|>system\nBe brief.<|im_end|>\n" +
      "<|im_start|>user\nHow is the weather in Bern?<|im_end|>\n<|im_start|>assistant\n",
  );
  const withTools = await render(server, { messages, tools: [weather] });
  expect(withTools).toMatch(/^<\|im_start\|>system\nBe brief\.\n\n.*<tools>\n\{.*"weather".*\}\n<\/tools>/s);
});

test("the chat template shows a tool call, its result and the thoughts before it", async () => {
  await using server = await startTinyLlama();
  const call = { type: "function", id: "1", function: { name: "weather", arguments: '{"city":"Bern"}' } };
  const asking = { role: "assistant", content: null, reasoning_content: "I must ask.", tool_calls: [call] };
  const result = { role: "tool", tool_call_id: "1", content: "Sunny" };
  const prompt = await render(server, { messages: [question, asking, result], tools: [weather] });
  expect(prompt).toContain(
    "<|im_start|>assistant\n<think>\nI must ask.\n</think>\n\n" +
      '<tool_call>{"name": "weather", "arguments": {"city": "Bern"}}</tool_call><|im_end|>\n' +
      "<|im_start|>user\n<tool_response>\nSunny\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
  );
});

test("switching thinking off closes the thoughts before the answer, leaving it on does not", async () => {
  await using server = await startTinyLlama();
  const messages = [question];
  const off = await render(server, { messages, chat_template_kwargs: { enable_thinking: false } });
  expect(off).toMatch(/<\|im_start\|>assistant\n<think>\n\n<\/think>\n\n$/);
  const on = await render(server, { messages, chat_template_kwargs: { enable_thinking: true } });
  expect(on).toMatch(/<\|im_start\|>assistant\n$/);
});

test("llama.cpp reads a tool call out of the tiny llama's answer", async () => {
  await using server = await startTinyLlama();
  // Random weights never begin a call by themselves; once the mark is forced, the grammar writes the rest.
  // The shape llama.cpp documents for this address.
  const { tokens } = (await post(server, "/tokenize", { content: "<tool_call>" })) as { tokens: number[] };
  const forced = { tool_choice: "required", logit_bias: tokens.map((token) => [token, 50]) };
  const answer = await chat(server, { messages: [question], tools: [weather], max_tokens: 200, ...forced });
  const [call] = answer.choices[0]?.message.tool_calls ?? [];
  expect(tokens).toHaveLength(1);
  expect(call?.function.name).toBe("weather");
  expect(JSON.parse(call?.function.arguments ?? "")).toEqual({ city: expect.any(String) });
});

test("with the tiny projector an image counts as sixteen tokens and changes the answer", async () => {
  const projector = await testModel("tiny-projector.gguf");
  await using server = await startLlamaServer({ model: await testModel("tiny-llama.gguf"), projector });
  const plain = await chat(server, { messages: [question] });
  const red = await chat(server, { messages: [withImage([255, 0, 0])] });
  const blue = await chat(server, { messages: [withImage([0, 0, 255])] });
  expect(red.usage.prompt_tokens - plain.usage.prompt_tokens).toBe(16);
  expect(red.choices[0]?.message.content).not.toBe(plain.choices[0]?.message.content);
  expect(red.choices[0]?.message.content).not.toBe(blue.choices[0]?.message.content);
});

test("without a projector an image is refused", async () => {
  await using server = await startTinyLlama();
  const answer = await send(server, "/v1/chat/completions", { messages: [withImage([255, 0, 0])] });
  expect(answer.ok).toBe(false);
  expect(await answer.text()).toContain("image input is not supported");
});

async function startTinyLlama(): Promise<LlamaServer> {
  return startLlamaServer({ model: await testModel("tiny-llama.gguf") });
}

async function render(server: LlamaServer, request: object): Promise<string> {
  // The shape of llama.cpp's own endpoint.
  return ((await post(server, "/apply-template", request)) as { prompt: string }).prompt;
}

async function chat(server: LlamaServer, request: object): Promise<ChatAnswer> {
  const limits = { max_tokens: 20, temperature: 0, ...request };
  // llama.cpp answers in OpenAI's shape.
  return (await post(server, "/v1/chat/completions", limits)) as ChatAnswer;
}

async function post(server: LlamaServer, path: string, request: object): Promise<unknown> {
  const answer = await send(server, path, request);
  expect(answer.status).toBe(200);
  return answer.json();
}

async function send(server: LlamaServer, path: string, request: object): Promise<Response> {
  return fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(request) });
}

function withImage(colour: readonly [number, number, number]): object {
  const url = `data:image/png;base64,${drawPng(colour).toString("base64")}`;
  const content = [
    { type: "text", text: question.content },
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
  // Each row opens with its filter, 0 for none.
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
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(content.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
