import type { EngineRequest } from "@hearth-and-keep/engine";
import { describe, expect, test } from "vitest";
import { parameterNames } from "../../../models/metadata/model-parameters.ts";
import { startTestServer, type TestServer, tiny } from "../../../test/start-test-server.ts";
import { readOptions } from "../read-options.ts";
import { fakeOutput, getRequest, sendRequest } from "../test/send-request.ts";

/** Each option with the default, the model's and the request's value. */
const rows: readonly {
  readonly option: string;
  readonly defaultValue: unknown;
  readonly modelValue: number;
  readonly requestValue: number;
  readonly read: (request: EngineRequest) => unknown;
}[] = [
  {
    option: "temperature",
    defaultValue: 0.7,
    modelValue: 0.3,
    requestValue: 0,
    read: ({ sampling }) => sampling.temperature,
  },
  {
    option: "top_p",
    defaultValue: 0.9,
    modelValue: 0.5,
    requestValue: 1,
    read: ({ sampling }) => sampling.topP,
  },
  {
    option: "top_k",
    defaultValue: 40,
    modelValue: 10,
    requestValue: 5,
    read: ({ sampling }) => sampling.topK,
  },
  {
    option: "min_p",
    defaultValue: 0,
    modelValue: 0.1,
    requestValue: 0.2,
    read: ({ sampling }) => sampling.minP,
  },
  {
    option: "typical_p",
    defaultValue: 1,
    modelValue: 0.8,
    requestValue: 0.9,
    read: ({ sampling }) => sampling.typicalP,
  },
  {
    option: "repeat_penalty",
    defaultValue: 1.1,
    modelValue: 1.5,
    requestValue: 1,
    read: ({ sampling }) => sampling.repeatPenalty,
  },
  {
    option: "repeat_last_n",
    defaultValue: 64,
    modelValue: 32,
    requestValue: 16,
    read: ({ sampling }) => sampling.repeatLastTokens,
  },
  {
    option: "frequency_penalty",
    defaultValue: 0,
    modelValue: 0.5,
    requestValue: 1,
    read: ({ sampling }) => sampling.frequencyPenalty,
  },
  {
    option: "presence_penalty",
    defaultValue: 0,
    modelValue: 0.5,
    requestValue: 1,
    read: ({ sampling }) => sampling.presencePenalty,
  },
  {
    option: "seed",
    defaultValue: expect.any(Number),
    modelValue: 7,
    requestValue: 9,
    read: ({ sampling }) => sampling.seed,
  },
  {
    option: "num_predict",
    defaultValue: 4096,
    modelValue: 100,
    requestValue: 8,
    read: ({ maxTokens }) => maxTokens,
  },
];

const prompt = "What is 2+2?";

function withParameters(parameters: Readonly<Record<string, unknown>>) {
  return { ...tiny, extras: { parameters } };
}

describe("the engine receives", () => {
  const models = {
    plain: tiny,
    set: withParameters(Object.fromEntries(rows.map(({ option, modelValue }) => [option, modelValue]))),
  };
  const cases = [
    { title: "the default", model: "plain", options: {}, column: "defaultValue" },
    { title: "the model's own value", model: "set", options: {}, column: "modelValue" },
    {
      title: "the request's value before the model's",
      model: "set",
      options: Object.fromEntries(rows.map(({ option, requestValue }) => [option, requestValue])),
      column: "requestValue",
    },
  ] as const;

  for (const { title, model, options, column } of cases) {
    test.each(["/api/generate", "/api/chat"])(`${title}: %s`, async (path) => {
      await using server = await startTestServer({ models, script: fakeOutput("4") });
      const input = path === "/api/chat" ? { messages: [{ role: "user", content: prompt }] } : { prompt };
      expect((await sendRequest(server, path, { model, ...input, options })).status).toBe(200);
      const [request] = server.requests;
      if (request === undefined) throw new Error("the engine got no request");
      const got = Object.fromEntries(rows.map(({ option, read }) => [option, read(request)]));
      expect(got).toEqual(Object.fromEntries(rows.map((row) => [row.option, row[column]])));
    });
  }
});

test("stop sequences of a request are added to the model's own", async () => {
  const models = { set: withParameters({ stop: ["<|end|>"] }) };
  for (const text of ["four ### five", "four <|end|> five"]) {
    await using server = await startTestServer({ models, script: fakeOutput(text) });
    const body = { model: "set", prompt, stream: false, options: { stop: ["###"] } };
    const { last } = await sendRequest(server, "/api/generate", body);
    expect(last).toMatchObject({ response: "four ", done_reason: "stop" });
  }
});

async function loadedContext(server: TestServer): Promise<unknown> {
  // The shape of ps.
  const { models } = (await getRequest(server, "/api/ps")).last as {
    models: { loaded_context_length: number }[];
  };
  return models[0]?.loaded_context_length;
}

test("num_ctx of the request or the model sets the loaded context, and a smaller one does not reload the model", async () => {
  const models = { plain: tiny, set: withParameters({ num_ctx: 2048 }) };
  await using server = await startTestServer({
    models,
    script: fakeOutput("4"),
    limits: { contextTokens: 1024 },
  });
  await sendRequest(server, "/api/generate", { model: "plain", prompt });
  expect(await loadedContext(server)).toBe(1024);
  const smaller = { model: "plain", prompt, stream: false, options: { num_ctx: 512 } };
  const served = await sendRequest(server, "/api/generate", smaller);
  expect(served.last).not.toHaveProperty("load_duration");
  expect(await loadedContext(server)).toBe(1024);
  await sendRequest(server, "/api/generate", { ...smaller, options: { num_ctx: 4096.0 } });
  expect(await loadedContext(server)).toBe(4096);
  await sendRequest(server, "/api/generate", { model: "plain", keep_alive: 0 });
  await sendRequest(server, "/api/generate", { model: "set", prompt });
  expect(await loadedContext(server)).toBe(2048);
});

describe("options", () => {
  test("of a wrong type are rejected by name, and unknown options are ignored", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    const wrong = [
      [{ num_ctx: "big" }, 'option "num_ctx" must be of type integer'],
      [{ temperature: true }, 'option "temperature" must be of type float32'],
      [{ stop: [1] }, 'option "stop" must be of type array'],
      [{ use_mmap: 1 }, 'option "use_mmap" must be of type boolean'],
      [{ num_thread: "2" }, 'option "num_thread" must be of type integer'],
      [{ top_p: 2 }, 'option "top_p" must be between 0 and 1'],
      [{ num_ctx: -1 }, 'option "num_ctx" must be between 0 and 2147483647'],
    ] as const;
    for (const [options, error] of wrong) {
      const rejected = await sendRequest(server, "/api/generate", { model: "tiny", prompt, options });
      expect(rejected.status).toBe(400);
      expect(rejected.last).toEqual({
        error,
        code: "top_p" in options ? "parameter-out-of-range" : "request-invalid",
      });
    }
    expect(server.requests).toHaveLength(0);
    const fine = { mirostat: 1, low_vram: "x", num_predict: 8.0, seed: null, stop: "#", num_gpu: 1, __x: {} };
    expect(
      (await sendRequest(server, "/api/generate", { model: "tiny", prompt, options: fine })).status,
    ).toBe(200);
    expect(server.requests[0]?.maxTokens).toBe(8);
  });

  test("have the same names as in a Modelfile and in chat commands", () => {
    for (const name of parameterNames) expect(() => readOptions({ [name]: {} }), name).toThrow(/invalid/u);
    expect(readOptions({ temprature: {} })).toEqual({ sampling: {} });
  });

  test("num_predict -1 generates until the context is full", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    await sendRequest(server, "/api/generate", { model: "tiny", prompt, options: { num_predict: -1 } });
    expect(server.requests[0]?.maxTokens).toBe(Number.MAX_SAFE_INTEGER);
  });
});

test("a model that never stops is limited and reports length, on real weights", async () => {
  await using server = await startTestServer({ models: { tiny: withParameters({ num_predict: 5 }) } });
  const body = { model: "tiny", prompt, raw: true, stream: false, options: { temperature: 0 } };
  const { last } = await sendRequest(server, "/api/generate", body);
  expect(last).toMatchObject({ done: true, done_reason: "length", eval_count: 5 });
}, 60_000);
