import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
} from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ClientFixture,
  cityParameters,
  cues,
  okSchema,
  pixel,
  recordCalls,
  rightKey,
  startClientFixture,
  tallyCalls,
  wrongKey,
} from "./client-fixture.ts";

let fixture: ClientFixture;
let real: OpenAI;
let scripted: OpenAI;
beforeAll(async () => {
  fixture = await startClientFixture();
  real = connect(fixture.real.url, rightKey);
  scripted = connect(fixture.scripted.url, rightKey);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const connect = (url: string, apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const say = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: "user", content }];
const model = "smol";
const messages = say("Count from one to nine");
const eight = { model, messages, temperature: 0, max_completion_tokens: 8 };
const weather = { type: "function", function: { name: "weather", parameters: cityParameters } } as const;
const onFakeEngine = { model: "tiny", messages, tools: [weather] };

const endpoints: readonly [string, (client: OpenAI) => Promise<unknown>][] = [
  ["GET /v1/models", async (client) => client.models.list()],
  ["GET /v1/models/*", async (client) => client.models.retrieve("smol:latest")],
  ["POST /v1/chat/completions", async (client) => client.chat.completions.create(eight)],
  [
    "POST /v1/completions",
    async (client) => client.completions.create({ model, prompt: "One", max_tokens: 4 }),
  ],
  ["POST /v1/embeddings", async (client) => client.embeddings.create({ model: "minilm", input: "a" })],
  [
    "POST /v1/responses",
    async (client) => client.responses.create({ model, input: "Hello", max_output_tokens: 4 }),
  ],
];

test.each(endpoints)(
  "%s throws without a key and with a wrong key, and succeeds with the right key",
  async (...[, call]) => {
    const keyless = new OpenAI({
      baseURL: `${fixture.real.url}/v1`,
      apiKey: "none",
      maxRetries: 0,
      defaultHeaders: { Authorization: null },
    });
    for (const client of [keyless, connect(fixture.real.url, wrongKey)]) {
      const refused = await call(client).catch((problem: unknown) => problem);
      expect(refused).toBeInstanceOf(AuthenticationError);
      expect(refused).toMatchObject({ status: 401, code: "invalid_api_key" });
    }
    await call(real);
  },
);

describe("chat completions on real weights", () => {
  test("output is limited by either name of the limit, counted, and stopped at stop sequences", async () => {
    const whole = await real.chat.completions.create(eight);
    expect(whole).toMatchObject({ object: "chat.completion", model, usage: { completion_tokens: 8 } });
    expect(whole.choices).toMatchObject([{ finish_reason: "length", message: { role: "assistant" } }]);
    const older = await real.chat.completions.create({ model, messages, temperature: 0, max_tokens: 8 });
    expect(older.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
    const stopped = await real.chat.completions.create({ ...eight, stop: [" "] });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop" });
    expect(stopped.choices[0]?.message.content).not.toContain(" ");
  });

  test("the same seed gives the same output", async () => {
    const seeded = { ...eight, temperature: 1, seed: 7 };
    const first = await real.chat.completions.create(seeded);
    const second = await real.chat.completions.create(seeded);
    expect(second.choices[0]?.message.content).toBe(first.choices[0]?.message.content);
    expect(second.id).not.toBe(first.id);
  });

  test("a stream, and the strict stream helper, add up to the complete response and its usage", async () => {
    const whole = await real.chat.completions.create(eight);
    const stream_options = { include_usage: true };
    const stream = await real.chat.completions.create({ ...eight, stream: true, stream_options });
    const chunks = await Array.fromAsync(stream);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 8 } });
    const helper = real.chat.completions.stream({ ...eight, stream_options });
    expect(await helper.finalContent()).toBe(text);
    expect(await helper.totalUsage()).toMatchObject({ completion_tokens: 8 });
  });

  test("output matches a schema and is parsed, complete and streamed, and so is plain JSON", async () => {
    const json_schema = { name: "verdict", schema: okSchema, strict: true };
    const shaped = {
      ...eight,
      max_completion_tokens: 16,
      response_format: { type: "json_schema" as const, json_schema },
    };
    const parsed = await real.chat.completions.parse(shaped);
    expect(parsed.choices[0]?.message.parsed).toEqual({ ok: expect.any(Boolean) });
    const streamed = await real.chat.completions.stream(shaped).finalChatCompletion();
    expect(streamed.choices[0]?.message.parsed).toEqual(parsed.choices[0]?.message.parsed);
    const json = await real.chat.completions.create({ ...eight, response_format: { type: "json_object" } });
    expect(json.choices[0]?.message.content?.trim()).toMatch(/^[[{]/u);
  });

  test("two choices, log-probabilities, a bias and an effort are accepted", async () => {
    const two = await real.chat.completions.create({ ...eight, n: 2, max_completion_tokens: 2 });
    expect(two.choices.map(({ index }) => index)).toEqual([0, 1]);
    const measured = await real.chat.completions.create({ ...eight, logprobs: true, top_logprobs: 2 });
    expect(measured.choices[0]?.logprobs?.content).toHaveLength(8);
    expect(measured.choices[0]?.logprobs?.content?.[0]?.top_logprobs).toHaveLength(2);
    const logit_bias = { "300": 100 };
    const biased = await real.chat.completions.create({ ...eight, logit_bias });
    expect(biased.choices[0]?.message.content).not.toBe(measured.choices[0]?.message.content);
    const effort = await real.chat.completions.create({ ...eight, model: "tiny", reasoning_effort: "low" });
    expect(effort.choices).toHaveLength(1);
  });

  test("developer messages are read as system messages, and text parts as text", async () => {
    const told = await real.chat.completions.create({
      ...eight,
      messages: [{ role: "developer", content: "Be brief" }, ...messages],
    });
    const system = await real.chat.completions.create({
      ...eight,
      messages: [
        { role: "system", content: [{ type: "text", text: "Be brief" }] },
        { role: "user", content: [{ type: "text", text: "Count from one to nine" }] },
      ],
    });
    expect(told.usage?.prompt_tokens).toBe(system.usage?.prompt_tokens);
    expect(told.choices[0]?.message.content).toBe(system.choices[0]?.message.content);
  });

  test("an image for a model without vision, a prompt that is too long and an unknown model throw their error classes", async () => {
    const image_url = { url: `data:image/png;base64,${pixel}` };
    const seeing = {
      ...eight,
      messages: [{ role: "user" as const, content: [{ type: "image_url" as const, image_url }] }],
    };
    await expect(real.chat.completions.create(seeing)).rejects.toBeInstanceOf(BadRequestError);
    const long = await real.chat.completions
      .create({ ...eight, messages: say("word ".repeat(3000)) })
      .catch((problem: unknown) => problem);
    expect(long).toBeInstanceOf(BadRequestError);
    expect(long).toMatchObject({ code: "context_length_exceeded" });
    await expect(real.chat.completions.create({ ...eight, model: "nobody" })).rejects.toBeInstanceOf(
      NotFoundError,
    );
    await expect(real.models.retrieve("no/body:here")).rejects.toBeInstanceOf(NotFoundError);
  });
});

describe("the other endpoints on real weights", () => {
  test("models are listed and retrieved", async () => {
    const ids = (await Array.fromAsync(real.models.list())).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(["minilm:latest", "smol:latest", "tiny:latest"]);
    expect(await real.models.retrieve("library/smol:latest")).toMatchObject({ owned_by: "local" });
  });

  test("complete and streamed completions are the same, and a suffix is filled in", async () => {
    const asked = { model, prompt: "One two three", max_tokens: 8, temperature: 0 };
    const whole = await real.completions.create(asked);
    const stream = await real.completions.create({ ...asked, stream: true });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe(whole.choices[0]?.text);
    const filled = await real.completions.create({ ...asked, model: "tiny", suffix: "five" });
    expect(filled.usage?.completion_tokens).toBeGreaterThan(0);
  });

  test("embeddings in the client's base64 encoding equal those in numbers, and tokens are rejected", async () => {
    const asked = { model: "minilm", input: ["a", "b"] };
    const encoded = await real.embeddings.create(asked);
    const numbers = await real.embeddings.create({ ...asked, encoding_format: "float" });
    expect(encoded.data.map(({ embedding }) => [...embedding])).toEqual(
      numbers.data.map(({ embedding }) => embedding),
    );
    const short = await real.embeddings.create({ model: "minilm", input: "a", dimensions: 128 });
    expect(short.data[0]?.embedding).toHaveLength(128);
    const tokens = real.embeddings.create({ model: "minilm", input: [1, 2] });
    await expect(tokens).rejects.toBeInstanceOf(BadRequestError);
  });
});

describe("tools and failures of chat completions on a fake engine", () => {
  const toolChoices = ["auto", "required", { type: "function", function: { name: "weather" } }] as const;

  test.each([
    [2, toolChoices[0], true],
    [2, toolChoices[1], true],
    [1, toolChoices[0], false],
    [1, toolChoices[1], false],
    [1, toolChoices[2], true],
  ])(
    "%i calls are returned for the choice %j, parallel %j, complete and streamed",
    async (count, tool_choice, parallel_tool_calls) => {
      const asked = { ...onFakeEngine, tool_choice, parallel_tool_calls };
      const whole = await scripted.chat.completions.create(asked);
      const streamed = await scripted.chat.completions.stream(asked).finalChatCompletion();
      for (const { choices } of [whole, streamed]) {
        expect(choices[0]?.finish_reason).toBe("tool_calls");
        const calls = choices[0]?.message.tool_calls ?? [];
        expect(calls).toMatchObject(
          ["Rome", "Oslo"].slice(0, count).map((city) => ({
            type: "function",
            function: { name: "weather", arguments: JSON.stringify({ city }) },
          })),
        );
        expect(new Set(calls.map(({ id }) => id)).size).toBe(count);
      }
    },
  );

  test("no call is returned if tools are off, and reasoning is separate from the content", async () => {
    const { choices } = await scripted.chat.completions.create({ ...onFakeEngine, tool_choice: "none" });
    expect(choices).toMatchObject([
      { finish_reason: "stop", message: { content: "It is sunny", reasoning_content: "I look it up" } },
    ]);
  });

  test("the client's tool runner calls the function and gets a response, complete and streamed", async () => {
    const asked: unknown[] = [];
    const look = (input: { readonly city: string }) => {
      asked.push(input.city);
      return "warm";
    };
    const runnable = {
      type: "function" as const,
      function: { ...weather.function, description: "Tells the weather", function: look, parse: JSON.parse },
    };
    const body = { model: "tiny", messages, tools: [runnable] };
    expect(await scripted.chat.completions.runTools(body).finalContent()).toBe("It is sunny");
    const streaming = scripted.chat.completions.runTools({ ...body, stream: true });
    expect(await streaming.finalContent()).toBe("It is sunny");
    expect(asked).toEqual(["Rome", "Oslo", "Rome", "Oslo"]);
  });

  test("tool results are read as text and as parts", async () => {
    const first = await scripted.chat.completions.create(onFakeEngine);
    const [message] = first.choices.map((choice) => choice.message);
    const contents = ["warm", [{ type: "text" as const, text: "cold" }]];
    const results = (message?.tool_calls ?? []).map(({ id }, index) => ({
      role: "tool" as const,
      tool_call_id: id,
      content: contents[index] ?? "",
    }));
    const answer = await scripted.chat.completions.create({
      ...onFakeEngine,
      messages: [...messages, ...(message === undefined ? [] : [message]), ...results],
    });
    expect(answer.choices[0]?.message.content).toBe("It is sunny");
    expect(fixture.scripted.requests.at(-1)?.input).toMatchObject({
      conversation: { messages: [{}, {}, { content: "warm" }, { content: "cold" }] },
    });
  });

  test("an engine failure is thrown, before the first token and after it", async () => {
    const atOnce = scripted.chat.completions.create({ model: "tiny", messages: say(cues.breakAtOnce) });
    await expect(atOnce).rejects.toBeInstanceOf(InternalServerError);
    const halfway = { model: "tiny", messages: say(cues.breakHalfway) };
    const stream = await scripted.chat.completions.create({ ...halfway, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toBeInstanceOf(APIError);
    await expect(scripted.chat.completions.stream(halfway).done()).rejects.toThrow(
      "The engine stopped while generating",
    );
  });

  test("an aborted request and an aborted stream throw and free their slots", async () => {
    const endless = { model: "tiny", messages: say(cues.fallSilent) };
    const hangUp = new AbortController();
    const pending = scripted.chat.completions.create(endless, { signal: hangUp.signal });
    setTimeout(() => hangUp.abort(), 100);
    await expect(pending).rejects.toBeInstanceOf(APIUserAbortError);
    const stream = scripted.chat.completions.stream(endless);
    stream.on("content", () => stream.abort());
    await expect(stream.done()).rejects.toBeInstanceOf(APIUserAbortError);
    const next = await scripted.chat.completions.create({ model: "tiny", messages });
    expect(next.choices[0]?.message.content).toBe("It is sunny");
  });
});

describe("responses", () => {
  const asked = { model, input: "Count from one to nine", temperature: 0, max_output_tokens: 8 };

  test("real weights give the same response complete and streamed, truncated at the limit", async () => {
    const whole = await real.responses.create(asked);
    expect(whole).toMatchObject({ status: "incomplete", usage: { output_tokens: 8 } });
    const streamed = await real.responses.stream(asked).finalResponse();
    expect(streamed.output_text).toBe(whole.output_text);
    const named = await real.responses.create({
      ...asked,
      instructions: "Be brief",
      reasoning: { effort: "low" },
    });
    expect(named.usage?.input_tokens).toBeGreaterThan(0);
  });

  test("real weights match a schema, which the client parses", async () => {
    const format = { type: "json_schema" as const, name: "verdict", schema: okSchema, strict: true };
    const parsed = await real.responses.parse({ ...asked, max_output_tokens: 16, text: { format } });
    expect(parsed.output_parsed).toEqual({ ok: expect.any(Boolean) });
  });

  test("a response that was not stored cannot be continued", async () => {
    const { id } = await real.responses.create({ ...asked, max_output_tokens: 1 });
    const next = real.responses.create({ ...asked, previous_response_id: id });
    await expect(next).rejects.toBeInstanceOf(BadRequestError);
  });

  test("reasoning and two calls are items, complete and streamed, and their results lead to a response", async () => {
    const tools = [{ type: "function", name: "weather", parameters: cityParameters, strict: true }] as const;
    const body = { model: "tiny", input: "What weather?", tools: [...tools] };
    const whole = await scripted.responses.create(body);
    expect(whole.output.map(({ type }) => type)).toEqual(["reasoning", "function_call", "function_call"]);
    const streamed = await scripted.responses.stream(body).finalResponse();
    const calls = streamed.output.filter((item) => item.type === "function_call");
    expect(calls.map(({ parsed_arguments }) => parsed_arguments)).toEqual([
      { city: "Rome" },
      { city: "Oslo" },
    ]);
    const results = calls.map(({ call_id }) => ({
      type: "function_call_output" as const,
      call_id,
      output: "warm",
    }));
    const said = whole.output.filter((item) => item.type === "reasoning" || item.type === "function_call");
    const history: OpenAI.Responses.ResponseInput = [{ role: "user", content: "What weather?" }, ...said];
    const answer = await scripted.responses.create({ ...body, input: [...history, ...results] });
    expect(answer).toMatchObject({ status: "completed", output_text: "It is sunny" });
    const none = await scripted.responses.create({ ...body, tool_choice: "none" });
    expect(none.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
  });

  test("an engine failure is thrown, and so is one mid-stream", async () => {
    const broken = scripted.responses.create({ model: "tiny", input: cues.breakAtOnce });
    await expect(broken).rejects.toBeInstanceOf(InternalServerError);
    const stream = await scripted.responses.create({ model: "tiny", input: cues.breakHalfway, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toBeInstanceOf(APIError);
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 83;
  const wanted = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm openai", tallyCalls(fixture), calls);
});
