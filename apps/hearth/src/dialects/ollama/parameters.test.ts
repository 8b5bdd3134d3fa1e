import type { GenerateRequest } from "@hearth-and-keep/engine";
import { describe, expect, test } from "vitest";
import { parameterNames } from "../../models/metadata/model-parameters.ts";
import { startTestServer, type TestServer, tiny } from "../../test/start-test-server.ts";
import { readOptions } from "./reading/options.ts";
import { ask, look, saying } from "./test/ask.ts";

/** Each option of the family: what the engine got when nobody, the model, or the request said something. */
const rows: readonly {
  readonly option: string;
  readonly usual: unknown;
  readonly ofModel: number;
  readonly asked: number;
  readonly read: (request: GenerateRequest) => unknown;
}[] = [
  { option: "temperature", usual: 0.7, ofModel: 0.3, asked: 0, read: ({ sampling }) => sampling.temperature },
  { option: "top_p", usual: 0.9, ofModel: 0.5, asked: 1, read: ({ sampling }) => sampling.topP },
  { option: "top_k", usual: 40, ofModel: 10, asked: 5, read: ({ sampling }) => sampling.topK },
  { option: "min_p", usual: 0, ofModel: 0.1, asked: 0.2, read: ({ sampling }) => sampling.minP },
  { option: "typical_p", usual: 1, ofModel: 0.8, asked: 0.9, read: ({ sampling }) => sampling.typicalP },
  {
    option: "repeat_penalty",
    usual: 1.1,
    ofModel: 1.5,
    asked: 1,
    read: ({ sampling }) => sampling.repeatPenalty,
  },
  {
    option: "repeat_last_n",
    usual: 64,
    ofModel: 32,
    asked: 16,
    read: ({ sampling }) => sampling.repeatLastTokens,
  },
  {
    option: "frequency_penalty",
    usual: 0,
    ofModel: 0.5,
    asked: 1,
    read: ({ sampling }) => sampling.frequencyPenalty,
  },
  {
    option: "presence_penalty",
    usual: 0,
    ofModel: 0.5,
    asked: 1,
    read: ({ sampling }) => sampling.presencePenalty,
  },
  { option: "seed", usual: expect.any(Number), ofModel: 7, asked: 9, read: ({ sampling }) => sampling.seed },
  { option: "num_predict", usual: 4096, ofModel: 100, asked: 8, read: ({ mostTokens }) => mostTokens },
];

const prompt = "What is 2+2?";

function withParameters(parameters: Readonly<Record<string, unknown>>) {
  return { ...tiny, extras: { parameters } };
}

describe("the engine receives", () => {
  const models = {
    plain: tiny,
    set: withParameters(Object.fromEntries(rows.map(({ option, ofModel }) => [option, ofModel]))),
  };
  const cases = [
    { title: "the default when nobody says anything", model: "plain", options: {}, column: "usual" },
    { title: "the model's own value", model: "set", options: {}, column: "ofModel" },
    {
      title: "the request's value before the model's",
      model: "set",
      options: Object.fromEntries(rows.map(({ option, asked }) => [option, asked])),
      column: "asked",
    },
  ] as const;

  for (const { title, model, options, column } of cases) {
    test.each(["/api/generate", "/api/chat"])(`${title}: %s`, async (path) => {
      await using server = await startTestServer({ models, script: saying("4") });
      const said = path === "/api/chat" ? { messages: [{ role: "user", content: prompt }] } : { prompt };
      expect((await ask(server, path, { model, ...said, options })).status).toBe(200);
      const [request] = server.requests;
      if (request === undefined) throw new Error("the engine got no request");
      const got = Object.fromEntries(rows.map(({ option, read }) => [option, read(request)]));
      expect(got).toEqual(Object.fromEntries(rows.map((row) => [row.option, row[column]])));
    });
  }
});

test("a request's stop adds to the model's own instead of taking its place", async () => {
  const models = { set: withParameters({ stop: ["<|end|>"] }) };
  for (const text of ["four ### five", "four <|end|> five"]) {
    await using server = await startTestServer({ models, script: saying(text) });
    const body = { model: "set", prompt, stream: false, options: { stop: ["###"] } };
    const { last } = await ask(server, "/api/generate", body);
    expect(last).toMatchObject({ response: "four ", done_reason: "stop" });
  }
});

async function loadedContext(server: TestServer): Promise<unknown> {
  const { models } = (await look(server, "/api/ps")).last as { models: { context_length: number }[] }; // The shape of ps.
  return models[0]?.context_length;
}

test("num_ctx decides the context that is loaded, from the request or the model, and a smaller one loads nothing anew", async () => {
  const models = { plain: tiny, set: withParameters({ num_ctx: 2048 }) };
  await using server = await startTestServer({
    models,
    script: saying("4"),
    limits: { contextTokens: 1024 },
  });
  await ask(server, "/api/generate", { model: "plain", prompt });
  expect(await loadedContext(server)).toBe(1024);
  const smaller = { model: "plain", prompt, stream: false, options: { num_ctx: 512 } };
  const served = await ask(server, "/api/generate", smaller);
  expect(served.last).not.toHaveProperty("load_duration");
  expect(await loadedContext(server)).toBe(1024);
  await ask(server, "/api/generate", { ...smaller, options: { num_ctx: 4096.0 } });
  expect(await loadedContext(server)).toBe(4096);
  await ask(server, "/api/generate", { model: "plain", keep_alive: 0 });
  await ask(server, "/api/generate", { model: "set", prompt });
  expect(await loadedContext(server)).toBe(2048);
});

describe("options", () => {
  test("of a wrong type are refused by their name, and one that nobody knows is left alone", async () => {
    await using server = await startTestServer({ models: { tiny }, script: saying("4") });
    const wrong = [
      [{ num_ctx: "big" }, 'option "num_ctx" must be of type integer'],
      [{ temperature: true }, 'option "temperature" must be of type float32'],
      [{ stop: [1] }, 'option "stop" must be of type array'],
      [{ use_mmap: 1 }, 'option "use_mmap" must be of type boolean'],
      [{ num_thread: "2" }, 'option "num_thread" must be of type integer'],
      [{ top_p: 2 }, 'option "top_p" must be from 0 to 1'],
      [{ num_ctx: -1 }, 'option "num_ctx" must be from 0 to 2147483647'],
    ] as const;
    for (const [options, error] of wrong) {
      const refused = await ask(server, "/api/generate", { model: "tiny", prompt, options });
      expect(refused.status).toBe(400);
      expect(refused.last).toEqual({ error });
    }
    expect(server.requests).toHaveLength(0);
    const fine = { mirostat: 1, low_vram: "x", num_predict: 8.0, seed: null, stop: "#", num_gpu: 1, __x: {} };
    expect((await ask(server, "/api/generate", { model: "tiny", prompt, options: fine })).status).toBe(200);
    expect(server.requests[0]?.mostTokens).toBe(8);
  });

  test("are known by every name that a Modelfile and a chat take", () => {
    for (const name of parameterNames) expect(() => readOptions({ [name]: {} }), name).toThrow(/invalid/u);
    expect(readOptions({ temprature: {} })).toEqual({ sampling: {} });
  });

  test("minus one token is until the context is full", async () => {
    await using server = await startTestServer({ models: { tiny }, script: saying("4") });
    await ask(server, "/api/generate", { model: "tiny", prompt, options: { num_predict: -1 } });
    expect(server.requests[0]?.mostTokens).toBe(Number.MAX_SAFE_INTEGER);
  });
});

test("a model that would never stop is bounded and reports length, on real weights", async () => {
  await using server = await startTestServer({ models: { tiny: withParameters({ num_predict: 5 }) } });
  const body = { model: "tiny", prompt, raw: true, stream: false, options: { temperature: 0 } };
  const { last } = await ask(server, "/api/generate", body);
  expect(last).toMatchObject({ done: true, done_reason: "length", eval_count: 5 });
}, 60_000);
