import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { describe, expect, test } from "vitest";
import { smol, startTestServer, tiny } from "../../../test/start-test-server.ts";
import { fakeOutput, keysOf, recorded, sendRequest } from "../test/send-request.ts";

const prompt = "What is 2+2?";
const greedy = { temperature: 0, seed: 1, num_predict: 8 };

/** Hearth has additional fields, and omits a load duration of zero. */
function comparable(keys: readonly string[]): readonly string[] {
  return keys.filter((key) => key !== "prompt_eval_cached_count" && key !== "load_duration");
}

test("a response has the recorded fields in order, streamed and complete, on real weights", async () => {
  await using server = await startTestServer({ models: { smol } });
  const streamed = await sendRequest(server, "/api/generate", { model: "smol", prompt, options: greedy });
  const [first, last] = recorded["generate stream"].body;
  expect(streamed.headers.get("content-type")).toBe(recorded["generate stream"].content_type);
  expect(keysOf(streamed.objects[0])).toEqual(keysOf(first));
  expect(comparable(keysOf(streamed.last))).toEqual(comparable(keysOf(last)));
  const complete = await sendRequest(server, "/api/generate", {
    model: "smol",
    prompt,
    options: greedy,
    stream: false,
  });
  expect(comparable(keysOf(complete.last))).toEqual(comparable(keysOf(recorded.generate.body)));
  expect(complete.headers.get("content-type")).toBe(recorded.generate.content_type);
  expect(complete.last["response"]).toBe(streamed.objects.map((object) => object["response"]).join(""));
  expect(complete.last).toMatchObject({ model: "smol", done: true, done_reason: "length", eval_count: 8 });
  expect(complete.last["created_at"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/u);
  expect(server.logRecords().at(-1)).toMatchObject({
    model: "smol:latest",
    outputTokens: 8,
    stopReason: "length",
  });
  const raw = { model: "smol", prompt: "One two three", raw: true, stream: false, options: greedy };
  const rawResponse = await sendRequest(server, "/api/generate", raw);
  expect(comparable(keysOf(rawResponse.last))).toEqual(comparable(keysOf(recorded["generate raw"].body)));
}, 60_000);

test("a cached prompt is counted completely and reported as cached", async () => {
  await using server = await startTestServer({ models: { tiny } });
  const body = { model: "tiny", prompt, stream: false, think: false, options: greedy };
  const first = await sendRequest(server, "/api/generate", body);
  const second = await sendRequest(server, "/api/generate", body);
  expect(second.last["prompt_eval_count"]).toBe(first.last["prompt_eval_count"]);
  expect(first.last["load_duration"]).toBeGreaterThan(0);
  expect(second.last).not.toHaveProperty("load_duration");
  expect(second.last["prompt_eval_cached_count"]).toBeGreaterThan(0);
}, 60_000);

const slowly: FakeEngineScript = () => [
  { do: "write", text: "a" },
  { do: "wait", milliseconds: 3000 },
  { do: "write", text: "b" },
  { do: "end", reason: "stop" },
];

describe("a request without a prompt", () => {
  test("loads the model and returns one object, even if streaming was requested", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("Hi") });
    const loaded = await sendRequest(server, "/api/generate", { model: "smol", stream: true });
    expect(loaded.headers.get("content-type")).toBe(recorded.load.content_type);
    expect(keysOf(loaded.last)).toEqual(keysOf(recorded.load.body));
    expect(loaded.last["done_reason"]).toBe("load");
    expect(server.scheduler.running()).toHaveLength(1);
    expect(server.requests).toHaveLength(0);
    const unloaded = await sendRequest(server, "/api/generate", { model: "smol", keep_alive: "0" });
    expect(unloaded.last).toMatchObject({ response: "", done: true, done_reason: "unload" });
    expect(server.scheduler.running()).toHaveLength(0);
  });

  test("unloads without waiting for a running generation, which still finishes", async () => {
    await using server = await startTestServer({ models: { smol }, script: slowly });
    const response = sendRequest(server, "/api/generate", { model: "smol", prompt, stream: false });
    await expect.poll(() => server.requests.length).toBe(1);
    const unloaded = await sendRequest(server, "/api/generate", { model: "smol", keep_alive: 0 });
    expect(unloaded.last["done_reason"]).toBe("unload");
    expect((await response).last["response"]).toBe("ab");
    await expect.poll(() => server.scheduler.running()).toHaveLength(0);
  }, 20_000);
});

describe("the engine request", () => {
  test("a prompt becomes a user message after the system prompt of the request, or of the model", async () => {
    const model = { ...smol, extras: { system: "You are terse." } };
    await using server = await startTestServer({ models: { smol: model }, script: fakeOutput("4") });
    await sendRequest(server, "/api/generate", { model: "smol", prompt });
    await sendRequest(server, "/api/generate", { model: "smol", prompt, system: "You are loud." });
    const user = { role: "user", content: prompt };
    expect(server.requests.map(({ input }) => input)).toMatchObject([
      { conversation: { messages: [{ role: "system", content: "You are terse." }, user] } },
      { conversation: { messages: [{ role: "system", content: "You are loud." }, user] } },
    ]);
  });

  test("raw sends the prompt unchanged and returns no context", async () => {
    const model = { ...smol, extras: { system: "You are terse." } };
    await using server = await startTestServer({ models: { smol: model }, script: fakeOutput("4") });
    const response = await sendRequest(server, "/api/generate", { model: "smol", prompt, raw: true });
    expect(server.requests[0]?.input).toEqual({ type: "raw", prompt });
    expect(response.last).not.toHaveProperty("context");
  });

  test("raw with a template, a system prompt or a context is rejected", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("4") });
    for (const surplus of [{ template: "{{ .Prompt }}" }, { system: "x" }, { context: [1] }]) {
      const rejected = await sendRequest(server, "/api/generate", {
        model: "smol",
        prompt,
        raw: true,
        ...surplus,
      });
      expect(rejected.status).toBe(400);
      expect(rejected.last).toEqual({
        error: "raw mode does not support template, system, or context",
        code: "request-invalid",
      });
    }
    expect(server.requests).toHaveLength(0);
  });

  test("a template with a suffix is rejected, and an empty template is ignored", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("4") });
    const rejected = await sendRequest(server, "/api/generate", {
      model: "smol",
      prompt,
      suffix: "end",
      template: "{{ .Prompt }}",
    });
    expect(rejected.status).toBe(400);
    expect(rejected.last["error"]).toContain("template cannot be combined with suffix");
    expect((await sendRequest(server, "/api/generate", { model: "smol", prompt, template: "" })).status).toBe(
      200,
    );
  });

  test("a suffix is used by a model that supports it, on real weights, and rejected by one that does not", async () => {
    await using server = await startTestServer({ models: { smol, tiny } });
    const body = { prompt: "def f", suffix: "return", stream: false, options: greedy };
    const filled = await sendRequest(server, "/api/generate", { model: "tiny", ...body });
    expect(filled.last).toMatchObject({ done: true, eval_count: 8 });
    const rejected = await sendRequest(server, "/api/generate", { model: "smol", ...body });
    expect(rejected.status).toBe(400);
    expect(rejected.last["error"]).toBe("registry.ollama.ai/library/smol:latest does not support insert");
  }, 60_000);

  test("the context of a response continues its conversation, including the system prompt", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("4 ✓") });
    const first = await sendRequest(server, "/api/generate", { model: "smol", prompt, system: "Äh" });
    const { context } = first.last;
    await sendRequest(server, "/api/generate", { model: "smol", prompt: "And plus 1?", context });
    expect(server.requests[1]?.input).toMatchObject({
      conversation: {
        messages: [
          { role: "system", content: "Äh" },
          { role: "user", content: prompt },
          { role: "assistant", content: "4 ✓" },
          { role: "user", content: "And plus 1?" },
        ],
      },
    });
    const foreign = await sendRequest(server, "/api/generate", {
      model: "smol",
      prompt,
      context: [1, 4093, 198],
    });
    expect(foreign.status).toBe(400);
    expect(foreign.last["error"]).toBe("context is not from a response of this server");
  });

  test("an embedding model does not generate", async () => {
    await using server = await startTestServer({
      models: { minilm: { file: "all-minilm-l6-v2-f32.gguf" } },
      script: fakeOutput("4"),
    });
    const rejected = await sendRequest(server, "/api/generate", { model: "minilm", prompt });
    expect(rejected.status).toBe(400);
    expect(rejected.last).toEqual({
      error: '"minilm" does not support generate',
      code: "capability-missing",
      model: "minilm",
      capability: "generate",
    });
    const unloaded = await sendRequest(server, "/api/generate", { model: "minilm", keep_alive: 0 });
    expect(unloaded.last["done_reason"]).toBe("unload");
  });
});
