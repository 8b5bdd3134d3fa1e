import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  type ModelRegistry,
  startFaultProxy,
  startModelRegistry,
  testModel,
} from "@hearth-and-keep/test-servers";
import { Ollama } from "ollama";
import { Ollama as BrowserOllama } from "ollama/browser";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ClientFixture,
  cityParameters,
  cues,
  okSchema,
  pixel,
  recordCalls,
  recordStoreCalls,
  rightKey,
  startClientFixture,
  tallyCalls,
  wrongKey,
} from "./client-fixture.ts";

let fixture: ClientFixture;
let registry: ModelRegistry;
let real: Ollama;
let fake: Ollama;
beforeAll(async () => {
  fixture = await startClientFixture();
  registry = await startModelRegistry();
  real = new Ollama({ host: fixture.real.url, headers: bearer(rightKey) });
  fake = new Ollama({ host: fixture.fake.url, headers: bearer(rightKey) });
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const model = "smol";
const prompt = "Count from one to nine";
const messages = [{ role: "user", content: prompt }];
const options = { seed: 1, temperature: 0, num_predict: 8 };
const tools = [{ type: "function", function: { name: "weather", parameters: cityParameters } }];

const weatherIn = (city: string) => ({ function: { name: "weather", arguments: { city } } });
const chatRequest = (content: string) => ({ model: "tiny", messages: [{ role: "user", content }] });

const endpoints: readonly [string, (client: Ollama) => Promise<unknown>][] = [
  ["GET /api/version", (client) => client.version()],
  ["GET /api/tags", (client) => client.list()],
  ["GET /api/ps", (client) => client.ps()],
  ["POST /api/show", (client) => client.show({ model })],
  ["POST /api/generate", (client) => client.generate({ model, prompt, options })],
  ["POST /api/chat", (client) => client.chat({ model, messages, options })],
  ["POST /api/embed", (client) => client.embed({ model: "minilm", input: "a" })],
  ["POST /api/embeddings", (client) => client.embeddings({ model: "minilm", prompt: "a" })],
  ["POST /api/copy", (client) => client.copy({ source: "tiny", destination: "copied" })],
  ["DELETE /api/delete", (client) => client.delete({ model: "copied" })],
  ["POST /api/create", (client) => client.create({ model: remote("tiny"), from: "tiny", stream: false })],
  ["POST /api/push", (client) => client.push({ model: remote("tiny"), insecure: true, stream: false })],
  ["POST /api/pull", (client) => client.pull({ model: remote("tiny"), insecure: true, stream: false })],
];

/** A model name at the registry, or at the proxy in front of it. */
function remote(name: string, { url }: { readonly url: string } = registry): string {
  return `${new URL(url).host}/team/${name}:latest`;
}

test.each(endpoints)(
  "%s throws without a key and with a wrong key, and succeeds with the right key",
  async (...[, call]) => {
    const unauthorized = { name: "ResponseError", status_code: 401 };
    const host = fixture.real.url;
    await expect(call(new Ollama({ host }))).rejects.toMatchObject(unauthorized);
    await expect(call(new Ollama({ host, headers: bearer(wrongKey) }))).rejects.toMatchObject(unauthorized);
    await call(real);
  },
);

describe("transfers", () => {
  test("a model is created from another one and from an uploaded file, with progress", async () => {
    const parameters = { temperature: 0, num_ctx: 512 };
    const steps = await real.create({
      model: "mine",
      from: "tiny",
      system: "Be brief",
      parameters,
      stream: true,
    });
    const statuses = (await Array.fromAsync(steps)).map(({ status }) => status);
    expect(statuses.slice(-2)).toEqual(["writing manifest", "success"]);
    expect(statuses[0]).toMatch(/^using existing layer sha256:/u);
    expect(await real.show({ model: "mine" })).toMatchObject({ system: "Be brief" });
    const weights = await readFile(await testModel("tiny-llama.gguf"));
    const digest = `sha256:${createHash("sha256").update(weights).digest("hex")}`;
    const blob = { method: "POST", headers: bearer(rightKey), body: weights };
    expect((await fetch(`${fixture.real.url}/api/blobs/${digest}`, blob)).status).toBe(200);
    const ofFiles = { model: "uploaded", files: { "tiny.gguf": digest } };
    expect(await real.create(ofFiles)).toEqual({ status: "success" });
    expect((await real.chat({ model: "uploaded", messages, options })).eval_count).toBe(8);
    await expect(real.create({ model: "none" })).rejects.toMatchObject({ status_code: 400 });
    for (const name of ["mine", "uploaded"]) await real.delete({ model: name });
  });

  test("push and pull report progress, and the pulled model works", async () => {
    await real.create({ model: remote("smol"), from: "smol" });
    const pushed = await Array.fromAsync(
      await real.push({ model: remote("smol"), insecure: true, stream: true }),
    );
    expect(pushed[0]).toEqual({ status: "retrieving manifest" });
    expect(pushed.at(-1)).toEqual({ status: "success" });
    for (const name of ["tiny", "smol"]) await real.delete({ model: remote(name) });
    const pulled = await Array.fromAsync(
      await real.pull({ model: remote("tiny"), insecure: true, stream: true }),
    );
    expect(pulled[0]).toEqual({ status: "pulling manifest" });
    expect(pulled.filter(({ digest }) => digest !== undefined).every(({ total }) => total > 0)).toBe(true);
    expect(pulled.at(-1)).toEqual({ status: "success" });
    expect((await real.chat({ model: remote("tiny"), messages, options })).eval_count).toBe(8);
    await real.delete({ model: remote("tiny") });
  });

  test("an aborted pull stops, and the next one resumes it", async () => {
    const slow = { kind: "throttle", bytesPerSecond: 24 * 1024 * 1024 } as const;
    await using proxy = await startFaultProxy({ target: registry.url, faults: [slow] });
    const request = { model: remote("smol", proxy), insecure: true, stream: true } as const;
    const stream = await fake.pull(request);
    const reading = (async () => {
      for await (const { completed = 0 } of stream) if (completed > 20_000_000) stream.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    await expect.poll(() => fixture.fake.logRecords().map(({ route }) => route)).toContain("POST /api/pull");
    await proxy.setFaults([]);
    const progress = await Array.fromAsync(await fake.pull(request));
    expect(progress.find(({ completed }) => completed > 0)?.completed).toBeGreaterThan(10_000_000);
    expect(progress.at(-1)).toEqual({ status: "success" });
    await fake.delete({ model: request.model });
  });

  test("a model missing from the registry is thrown, complete and streamed", async () => {
    const request = { model: remote("none"), insecure: true };
    await expect(real.pull(request)).rejects.toThrow("pull model manifest: file does not exist");
    const streamed = Array.fromAsync(await real.pull({ ...request, stream: true }));
    await expect(streamed).rejects.toThrow("pull model manifest: file does not exist");
    await expect(real.push(request)).rejects.toMatchObject({ status_code: 404 });
  });
});

describe("on real weights", () => {
  test("models are listed, shown and reported as loaded", async () => {
    expect((await real.version()).version).toMatch(/^\d+\.\d+\.\d+$/u);
    const { models } = await real.list();
    expect(models.map(({ name }) => name).toSorted()).toEqual([
      "minilm:latest",
      "smol:latest",
      "tiny:latest",
    ]);
    expect(await real.show({ model: "tiny" })).toMatchObject({
      capabilities: expect.arrayContaining(["completion", "tools", "thinking"]),
      model_info: expect.objectContaining({ "general.architecture": "llama" }),
      details: { format: "gguf" },
    });
    expect((await real.show({ model })).capabilities).toEqual(["completion"]);
    await real.generate({ model, prompt: "", keep_alive: -1 });
    expect((await real.ps()).models.map(({ name }) => name)).toContain("smol:latest");
    // No test above uses a model of the fake engine.
    expect((await fake.ps()).models).toEqual([]);
  });

  test("generate returns the same text complete and streamed, and continues from its context", async () => {
    const complete = await real.generate({ model, prompt, options });
    expect(complete).toMatchObject({ model, done: true, done_reason: "length", eval_count: 8 });
    let text = "";
    for await (const chunk of await real.generate({ model, prompt, options, stream: true })) {
      text += chunk.response;
    }
    expect(text).toBe(complete.response);
    const next = await real.generate({
      model,
      prompt,
      options,
      context: complete.context,
      system: "Be brief",
    });
    expect(next.prompt_eval_count).toBeGreaterThan(complete.prompt_eval_count);
  });

  test("generate continues a raw prompt, fills in the middle, and rejects an unsupported suffix", async () => {
    const raw = await real.generate({ model, prompt: "One two three", raw: true, options });
    expect(raw.response).not.toBe("");
    expect((await real.generate({ model: "tiny", prompt: "a", suffix: "b", options })).eval_count).toBe(8);
    await expect(real.generate({ model, prompt, suffix: "b" })).rejects.toMatchObject({ status_code: 400 });
  });

  test("an empty prompt loads the model, and unloads it with keep_alive 0; so does a chat without messages", async () => {
    expect((await real.generate({ model: "tiny", prompt: "", keep_alive: "5m" })).done_reason).toBe("load");
    expect((await real.generate({ model: "tiny", prompt: "", keep_alive: -1 })).done_reason).toBe("load");
    const loaded = (await real.ps()).models.find(({ name }) => name === "tiny:latest");
    expect(new Date(String(loaded?.expires_at)).getFullYear()).toBeGreaterThan(2200);
    expect((await real.generate({ model: "tiny", prompt: "", keep_alive: 0 })).done_reason).toBe("unload");
    expect((await real.ps()).models.map(({ name }) => name)).not.toContain("tiny:latest");
    expect((await real.chat({ model: "tiny", messages: [] })).done_reason).toBe("load");
    expect((await real.chat({ model: "tiny", messages: [], keep_alive: 0 })).done_reason).toBe("unload");
  });

  test("chat returns the same text complete and streamed", async () => {
    const complete = await real.chat({ model, messages, options });
    expect(complete).toMatchObject({ done: true, eval_count: 8, message: { role: "assistant" } });
    let text = "";
    for await (const chunk of await real.chat({ model, messages, options, stream: true })) {
      text += chunk.message.content;
    }
    expect(text).toBe(complete.message.content);
  });

  test("chat matches a schema and plain JSON, returns log-probabilities, and stops at stop sequences", async () => {
    const sixteen = { ...options, num_predict: 16 };
    const shaped = await real.chat({ model, messages, format: okSchema, options: sixteen });
    expect(JSON.parse(shaped.message.content)).toEqual({ ok: expect.any(Boolean) });
    const fixed = { type: "object", properties: { answer: { enum: ["four"] } }, required: ["answer"] };
    const sum = { model, messages: [{ role: "user", content: "What is 2+2?" }], options: sixteen };
    const determined = await real.chat({ ...sum, format: fixed });
    expect(JSON.parse(determined.message.content)).toEqual({ answer: "four" });
    const json = await real.chat({ model, messages, format: "json", options: sixteen });
    expect(json.message.content.trim()).toMatch(/^[[{]/u);
    const measured = await real.chat({ model, messages, options, logprobs: true, top_logprobs: 3 });
    expect(measured.logprobs).toHaveLength(8);
    expect(measured.logprobs?.[0]?.top_logprobs).toHaveLength(3);
    const [first = ""] = measured.message.content.split(" ", 1);
    const stopped = await real.chat({ model, messages, options: { ...options, stop: [" "] } });
    expect(stopped).toMatchObject({ done_reason: "stop", message: { content: first } });
  });

  test("a thinking model accepts every think value and tools; a model without them rejects both", async () => {
    for (const think of [true, false, "high"] as const) {
      const response = await real.chat({ model: "tiny", messages, think, options });
      expect(response).toMatchObject({ done: true, eval_count: 8 });
    }
    expect((await real.chat({ model: "tiny", messages, tools, options })).done).toBe(true);
    const badRequest = { name: "ResponseError", status_code: 400 };
    const thinking = real.chat({ model, messages, think: true });
    await expect(thinking).rejects.toMatchObject(badRequest);
    await expect(thinking).rejects.toThrow("does not support thinking");
    await expect(real.chat({ model, messages, tools })).rejects.toThrow("does not support tools");
  });

  test("an image for a model without vision is rejected, as bytes and as base64", async () => {
    for (const images of [[Buffer.from(pixel, "base64")], [pixel]]) {
      const seeing = real.chat({ model, messages: [{ role: "user", content: prompt, images }] });
      await expect(seeing).rejects.toThrow("does not support vision");
    }
  });

  test("texts are embedded, one and several, complete and truncated", async () => {
    const many = await real.embed({ model: "minilm", input: ["a", "b"] });
    expect(many.embeddings.map(({ length }) => length)).toEqual([384, 384]);
    const truncated = await real.embed({ model: "minilm", input: ["a", "b"], dimensions: 128 });
    expect(truncated.embeddings.map((vector) => [vector.length, Math.hypot(...vector)])).toEqual([
      [128, expect.closeTo(1, 5)],
      [128, expect.closeTo(1, 5)],
    ]);
    expect((await real.embeddings({ model: "minilm", prompt: "a" })).embedding).toHaveLength(384);
  });

  test("a copy exists until it is deleted, and an unknown model is a 404 with the text that clients match", async () => {
    expect(await real.copy({ source: "tiny", destination: "mine" })).toEqual({ status: "success" });
    expect((await real.show({ model: "mine" })).details.format).toBe("gguf");
    expect(await real.delete({ model: "mine" })).toEqual({ status: "success" });
    await expect(real.chat({ model: "mine", messages })).rejects.toMatchObject({
      name: "ResponseError",
      status_code: 404,
      message: expect.stringContaining("not found, try pulling it first"),
    });
    await expect(real.delete({ model: "mine" })).rejects.toMatchObject({ status_code: 404 });
  });

  test("the browser build works from a page on this machine, after a preflight request", async () => {
    const origin = "http://localhost:5173";
    const preflights: (string | null)[] = [];
    const fetchAsPage: typeof fetch = async (url, { headers, ...rest } = {}) => {
      const preflightHeaders = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
      };
      const preflight = await fetch(url, {
        method: "OPTIONS",
        headers: { Origin: origin, ...preflightHeaders },
      });
      preflights.push(preflight.headers.get("access-control-allow-origin"));
      return fetch(url, {
        ...rest,
        headers: { ...Object.fromEntries(new Headers(headers)), Origin: origin },
      });
    };
    const page = new BrowserOllama({ host: fixture.real.url, headers: bearer(rightKey), fetch: fetchAsPage });
    expect((await page.chat({ model, messages, options })).eval_count).toBe(8);
    expect(preflights).toEqual([origin]);
  });
});

describe("on a fake engine", () => {
  const chat = { model: "tiny", messages, tools };

  test("two calls are returned with thinking before them, and their results by name lead to a response", async () => {
    const { message } = await fake.chat(chat);
    expect(message).toMatchObject({
      thinking: "I look it up",
      tool_calls: [weatherIn("Rome"), weatherIn("Oslo")],
    });
    const results = ["warm", "cold"].map((content) => ({ role: "tool", tool_name: "weather", content }));
    const response = await fake.chat({ ...chat, messages: [...messages, message, ...results] });
    expect(response.message.content).toBe("It is sunny");
    expect(fixture.fake.requests.at(-1)?.input).toMatchObject({
      conversation: {
        messages: [
          { role: "user" },
          { role: "assistant", toolCalls: [weatherIn("Rome").function, weatherIn("Oslo").function] },
          { role: "tool", toolName: "weather", content: "warm" },
          { role: "tool", toolName: "weather", content: "cold" },
        ],
      },
    });
  });

  test("streamed calls and thinking are complete, and without thinking there is none", async () => {
    const chunks = await Array.fromAsync(await fake.chat({ ...chat, stream: true, think: true }));
    expect(chunks.flatMap(({ message }) => message.tool_calls ?? [])).toMatchObject([
      weatherIn("Rome"),
      weatherIn("Oslo"),
    ]);
    expect(chunks.map(({ message }) => message.thinking ?? "").join("")).toBe("I look it up");
    const read = { thinking: "", content: "" };
    for await (const { message } of await fake.chat({
      model: "tiny",
      messages,
      think: true,
      stream: true,
    })) {
      read.thinking += message.thinking ?? "";
      read.content += message.content;
    }
    expect(read).toEqual({ thinking: "I look it up", content: "It is sunny" });
    const withoutThinking = await fake.chat({ model: "tiny", messages, think: false });
    expect(withoutThinking.message).toEqual({ role: "assistant", content: "It is sunny" });
    const generated = await fake.generate({ model: "tiny", prompt, think: true });
    expect(generated).toMatchObject({ thinking: "I look it up", response: "It is sunny" });
  });

  test("an engine failure is thrown, before the first token and after it", async () => {
    await expect(fake.chat(chatRequest(cues.breakAtOnce))).rejects.toMatchObject({ status_code: 500 });
    const stream = await fake.chat({ ...chatRequest(cues.breakHalfway), stream: true });
    const received: string[] = [];
    const reading = (async () => {
      for await (const { message } of stream) received.push(message.content);
    })();
    await expect(reading).rejects.toThrow(/unexpectedly stopped/u);
    expect(received).toEqual(["half"]);
  });

  test("an aborted stream throws and frees its slot", async () => {
    const stream = await fake.chat({ ...chatRequest(cues.fallSilent), stream: true });
    const reading = (async () => {
      for await (const chunk of stream) {
        expect(chunk.message.content).toBe("a");
        stream.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    expect((await fake.chat({ model: "tiny", messages })).message.content).toBe("It is sunny");
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 114;
  // This client has no method for uploads, so they are sent directly.
  const succeeded = [...routes, "POST /api/blobs/:digest"].toSorted();
  const wanted = { succeeded, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm ollama", tallyCalls(fixture), calls);
  recordStoreCalls("npm ollama", tallyCalls(fixture));
});
