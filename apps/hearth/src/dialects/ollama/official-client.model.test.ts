import { ChatOllama, OllamaEmbeddings } from "@langchain/ollama";
import { Ollama } from "ollama";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { minilm, smol, startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";
import { fakeOutput } from "./test/send-request.ts";

const prompt = "What is 2+2?";
const messages = [{ role: "user", content: prompt }];
const options = { seed: 1, temperature: 0, num_predict: 8 };
const tools = [
  {
    type: "function",
    function: {
      name: "weather",
      description: "Tells the weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];

describe("npm ollama on real weights", () => {
  let server: TestServer;
  let client: Ollama;
  beforeAll(async () => {
    server = await startTestServer({ models: { smol, tiny, minilm } });
    client = new Ollama({ host: server.url, headers: { Authorization: "Bearer any" } });
  }, 60_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test("version, list, show and ps", async () => {
    expect((await client.version()).version).toMatch(/^\d+\.\d+\.\d+$/u);
    expect((await client.list()).models).toHaveLength(3);
    expect((await client.show({ model: "smol" })).capabilities).toEqual(["completion"]);
    expect((await client.ps()).models).toEqual([]);
  });

  test("generate, complete and streamed, raw, and with a suffix", async () => {
    const whole = await client.generate({ model: "smol", prompt, options });
    expect(whole).toMatchObject({ done: true, eval_count: 8, model: "smol" });
    let text = "";
    for await (const part of await client.generate({ model: "smol", prompt, options, stream: true })) {
      text += part.response;
    }
    expect(text).toBe(whole.response);
    const raw = await client.generate({ model: "smol", prompt: "One two", raw: true, options });
    expect(raw.response).not.toBe("");
    const more = await client.generate({ model: "smol", prompt, options, context: whole.context });
    expect(more.prompt_eval_count).toBeGreaterThan(whole.prompt_eval_count);
    const filled = await client.generate({ model: "tiny", prompt: "def f", suffix: "return", options });
    expect(filled.eval_count).toBe(8);
  }, 60_000);

  test("loads forever and unloads with an empty prompt", async () => {
    expect((await client.generate({ model: "tiny", prompt: "", keep_alive: -1 })).done_reason).toBe("load");
    const [loaded] = (await client.ps()).models.filter(({ name }) => name === "tiny:latest");
    expect(new Date(String(loaded?.expires_at)).getFullYear()).toBeGreaterThan(2200);
    expect((await client.generate({ model: "tiny", prompt: "", keep_alive: 0 })).done_reason).toBe("unload");
    expect((await client.ps()).models.filter(({ name }) => name === "tiny:latest")).toEqual([]);
  }, 60_000);

  test("chat, complete and streamed, with log-probabilities, a schema, and thinking on and off", async () => {
    const whole = await client.chat({ model: "smol", messages, options });
    let text = "";
    for await (const part of await client.chat({ model: "smol", messages, options, stream: true })) {
      text += part.message.content;
    }
    expect(text).toBe(whole.message.content);
    const measured = await client.chat({ model: "smol", messages, options, logprobs: true, top_logprobs: 3 });
    expect(measured.logprobs?.[0]?.top_logprobs).toHaveLength(3);
    const format = { type: "object", properties: { answer: { enum: ["four"] } }, required: ["answer"] };
    const shaped = await client.chat({
      model: "smol",
      messages,
      format,
      options: { ...options, num_predict: 16 },
    });
    expect(JSON.parse(shaped.message.content)).toEqual({ answer: "four" });
    for (const think of [true, false, "high"] as const) {
      expect((await client.chat({ model: "tiny", messages, think, options })).eval_count).toBe(8);
    }
    expect((await client.chat({ model: "tiny", messages, tools, options })).done).toBe(true);
    await expect(client.chat({ model: "smol", messages, think: true })).rejects.toThrow(
      "does not support thinking",
    );
  }, 60_000);

  test("embed and embeddings", async () => {
    const { embeddings } = await client.embed({ model: "minilm", input: ["a", "b"], dimensions: 128 });
    expect(embeddings.map((vector) => vector.length)).toEqual([128, 128]);
    expect((await client.embeddings({ model: "minilm", prompt: "a" })).embedding).toHaveLength(384);
  }, 60_000);

  test("copy and delete, and an unknown model is a 404 that makes clients pull it", async () => {
    expect(await client.copy({ source: "tiny", destination: "mine" })).toEqual({ status: "success" });
    expect(await client.delete({ model: "mine" })).toEqual({ status: "success" });
    const gone = client.chat({ model: "mine", messages });
    await expect(gone).rejects.toMatchObject({ name: "ResponseError", status_code: 404 });
    await expect(client.chat({ model: "mine", messages })).rejects.toThrow("not found, try pulling it first");
  });

  test("LangChain's chat and embeddings", async () => {
    const chat = new ChatOllama({ baseUrl: server.url, model: "smol", numPredict: 8, temperature: 0 });
    const answer = await chat.invoke("What is 2+2?");
    expect(answer.text).not.toBe("");
    expect(answer).toMatchObject({ usage_metadata: { output_tokens: 8 } });
    let chunks = 0;
    for await (const chunk of await chat.stream("What is 2+2?")) chunks += chunk.text === "" ? 0 : 1;
    expect(chunks).toBeGreaterThan(1);
    const embeddings = new OllamaEmbeddings({ baseUrl: server.url, model: "minilm" });
    expect(await embeddings.embedQuery("a")).toHaveLength(384);
  }, 60_000);
});

describe("npm ollama on a fake engine", () => {
  test("calls a tool, sends the result by the tool's name, and reads the second turn", async () => {
    const call = '<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>';
    const script: ReturnType<typeof fakeOutput> = (request, turn) =>
      fakeOutput(turn === 1 ? call : "Sunny")(request, turn);
    await using server = await startTestServer({ models: { tiny }, script });
    const client = new Ollama({ host: server.url });
    const first = await client.chat({ model: "tiny", messages, tools });
    expect(first.message.tool_calls?.[0]?.function).toMatchObject({
      name: "weather",
      arguments: { city: "Rome" },
    });
    const result = { role: "tool", tool_name: "weather", content: "22 degrees" };
    const second = await client.chat({
      model: "tiny",
      messages: [...messages, first.message, result],
      tools,
    });
    expect(second.message.content).toBe("Sunny");
    expect(server.requests[1]?.input).toMatchObject({
      conversation: {
        messages: [
          { role: "user" },
          { role: "assistant", toolCalls: [{ name: "weather", arguments: { city: "Rome" } }] },
          { role: "tool", toolName: "weather", content: "22 degrees" },
        ],
      },
    });
  });

  test("reads thinking separately from the content, streamed", async () => {
    const description = { chatTemplate: "<think></think>" };
    const script = fakeOutput("<think>Hm", "</think>", "4");
    await using server = await startTestServer({ models: { tiny }, script, description });
    const client = new Ollama({ host: server.url });
    const read = { thinking: "", content: "" };
    for await (const { message } of await client.chat({
      model: "tiny",
      messages,
      think: true,
      stream: true,
    })) {
      read.thinking += message.thinking ?? "";
      read.content += message.content;
    }
    expect(read).toEqual({ thinking: "Hm", content: "4" });
  });
});
