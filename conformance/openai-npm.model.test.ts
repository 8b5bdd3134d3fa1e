import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
} from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
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
let fake: OpenAI;
beforeAll(async () => {
  fixture = await startClientFixture();
  real = connect(fixture.real.url, rightKey);
  fake = connect(fixture.fake.url, rightKey);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const connect = (url: string, apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const userMessage = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: "user", content }];
const model = "smol";
const messages = userMessage("Count from one to nine");
const eight = { model, messages, temperature: 0, max_completion_tokens: 8 };
const weather = { type: "function", function: { name: "weather", parameters: cityParameters } } as const;
const onFakeEngine = { model: "tiny", messages, tools: [weather] };

test("chat completions throw without a key and with a wrong key, and succeed with the right key", async () => {
  const keyless = new OpenAI({
    baseURL: `${fixture.real.url}/v1`,
    apiKey: "none",
    maxRetries: 0,
    defaultHeaders: { Authorization: null },
  });
  for (const client of [keyless, connect(fixture.real.url, wrongKey)]) {
    const rejected = await client.chat.completions.create(eight).catch((error: unknown) => error);
    expect(rejected).toBeInstanceOf(AuthenticationError);
    expect(rejected).toMatchObject({ status: 401, code: "invalid_api_key" });
  }
  await real.chat.completions.create(eight);
});

describe("on real weights", () => {
  test("a chat completion has content and token usage, and is limited by either name of the limit and by stop sequences", async () => {
    const complete = await real.chat.completions.create(eight);
    expect(complete).toMatchObject({ object: "chat.completion", model, usage: { completion_tokens: 8 } });
    expect(complete.usage?.total_tokens).toBe((complete.usage?.prompt_tokens ?? 0) + 8);
    expect(complete.choices).toMatchObject([
      { finish_reason: "length", message: { role: "assistant", content: expect.stringMatching(/\w/u) } },
    ]);
    const older = await real.chat.completions.create({ model, messages, temperature: 0, max_tokens: 8 });
    expect(older.choices[0]?.message.content).toBe(complete.choices[0]?.message.content);
    const stopped = await real.chat.completions.create({ ...eight, stop: [" "] });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop" });
    expect(stopped.choices[0]?.message.content).not.toContain(" ");
  });

  test("the same seed gives the same output, and a stop sequence is not included", async () => {
    const seeded = { ...eight, max_completion_tokens: 10, temperature: 1, seed: 7 };
    const first = await real.chat.completions.create(seeded);
    const second = await real.chat.completions.create(seeded);
    const content = first.choices[0]?.message.content ?? "";
    expect(second.choices[0]?.message.content).toBe(content);
    expect(second.id).not.toBe(first.id);
    const stop = content.slice(4, 8);
    const [stopped] = (await real.chat.completions.create({ ...seeded, stop })).choices;
    expect(stopped?.finish_reason).toBe("stop");
    expect(content.startsWith(stopped?.message.content ?? "-")).toBe(true);
    expect(stopped?.message.content).not.toContain(stop);
  });

  test("a stream, and the strict stream helper, add up to the complete response and its usage", async () => {
    const complete = await real.chat.completions.create(eight);
    const stream_options = { include_usage: true };
    const stream = await real.chat.completions.create({ ...eight, stream: true, stream_options });
    const chunks = await Array.fromAsync(stream);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(complete.choices[0]?.message.content);
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
    const response_format = zodResponseFormat(z.object({ isSunny: z.boolean() }), "weather");
    const fromZod = await real.chat.completions.parse({ ...shaped, response_format });
    expect(fromZod.choices[0]?.message.parsed?.isSunny).toBeTypeOf("boolean");
    const json = await real.chat.completions.create({ ...eight, response_format: { type: "json_object" } });
    expect(json.choices[0]?.message.content?.trim()).toMatch(/^[[{]/u);
  });

  test("two choices are returned, complete and streamed, and the prompt is counted once", async () => {
    const request = { model, messages, max_tokens: 4, seed: 1, n: 2 };
    const { choices, usage } = await real.chat.completions.create(request);
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(usage?.completion_tokens).toBe(8);
    const single = await real.chat.completions.create({ ...request, n: 1 });
    expect(usage?.prompt_tokens).toBe(single.usage?.prompt_tokens);
    const streamed = await real.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices.map(({ message }) => message.content)).toEqual(
      choices.map(({ message }) => message.content),
    );
  });

  test("every token has log-probabilities of itself and its alternatives, and a bias changes the output", async () => {
    const measured = await real.chat.completions.create({ ...eight, logprobs: true, top_logprobs: 2 });
    const tokens = measured.choices[0]?.logprobs?.content ?? [];
    expect(tokens).toHaveLength(8);
    for (const { logprob, top_logprobs, bytes, token } of tokens) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top_logprobs).toHaveLength(2);
      expect(Buffer.from(bytes ?? []).toString()).toBe(token);
    }
    const biased = await real.chat.completions.create({ ...eight, logit_bias: { "300": 100 } });
    expect(biased.choices[0]?.message.content).not.toBe(measured.choices[0]?.message.content);
  });

  test("an effort is accepted by models with and without thinking", async () => {
    for (const name of ["tiny", "smol"]) {
      for (const reasoning_effort of ["none", "low"] as const) {
        const request = { model: name, messages, max_tokens: 2, reasoning_effort };
        expect((await real.chat.completions.create(request)).choices).toHaveLength(1);
      }
    }
  });

  test("a tool call is required of a model whose template has no tools, and runTools continues with its result", async () => {
    const city = { type: "string", enum: ["Rome"] };
    const parameters = { ...cityParameters, properties: { city } };
    const described = { name: "get_weather", description: "Tells the weather", parameters };
    const request = { model, messages, max_tokens: 64, temperature: 0 };
    const response = await real.chat.completions.create({
      ...request,
      tools: [{ type: "function", function: { name: "get_weather", parameters } }],
      tool_choice: "required",
      parallel_tool_calls: false,
    });
    expect(response.choices).toMatchObject([
      {
        finish_reason: "tool_calls",
        message: { tool_calls: [{ type: "function", function: { name: "get_weather" } }] },
      },
    ]);
    const runner = real.chat.completions.runTools(
      {
        ...request,
        tool_choice: { type: "function", function: { name: "get_weather" } },
        tools: [{ type: "function", function: { ...described, function: () => "sunny" } }],
      },
      { maxChatCompletions: 2 },
    );
    await runner.done();
    expect(runner.messages.find(({ role }) => role === "tool")).toMatchObject({ content: "sunny" });
  });

  test("developer messages are read as system messages, and text parts as text", async () => {
    const developer = await real.chat.completions.create({
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
    expect(developer.usage?.prompt_tokens).toBe(system.usage?.prompt_tokens);
    expect(developer.choices[0]?.message.content).toBe(system.choices[0]?.message.content);
  });

  test("an image for a model without vision, a prompt that is too long and an unknown model throw their error classes", async () => {
    const url = `data:image/png;base64,${pixel}`;
    const image: OpenAI.ChatCompletionContentPart = { type: "image_url", image_url: { url } };
    const seeing = real.chat.completions.create({
      ...eight,
      messages: [{ role: "user", content: [image] }],
    });
    await expect(seeing).rejects.toBeInstanceOf(BadRequestError);
    await expect(seeing).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("does not support vision"),
    });
    for (const stream of [false, true]) {
      const request = { ...eight, messages: userMessage("word ".repeat(3000)), stream };
      const long = await real.chat.completions.create(request).catch((error: unknown) => error);
      expect(long).toBeInstanceOf(BadRequestError);
      expect(long).toMatchObject({ code: "context_length_exceeded" });
    }
    const unknown = real.chat.completions.create({ ...eight, model: "nobody" });
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError);
    await expect(unknown).rejects.toMatchObject({ code: "model_not_found" });
  });
});

describe("on a fake engine", () => {
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
      const request = { ...onFakeEngine, tool_choice, parallel_tool_calls };
      const complete = await fake.chat.completions.create(request);
      const streamed = await fake.chat.completions.stream(request).finalChatCompletion();
      for (const { choices } of [complete, streamed]) {
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
    const { choices } = await fake.chat.completions.create({ ...onFakeEngine, tool_choice: "none" });
    expect(choices).toMatchObject([
      { finish_reason: "stop", message: { content: "It is sunny", reasoning_content: "I look it up" } },
    ]);
  });

  test("the client's tool runner calls the function and gets a response, complete and streamed", async () => {
    const requestedCities: unknown[] = [];
    const lookUp = (input: { readonly city: string }) => {
      requestedCities.push(input.city);
      return "warm";
    };
    const runnable = {
      type: "function" as const,
      function: {
        ...weather.function,
        description: "Tells the weather",
        function: lookUp,
        parse: JSON.parse,
      },
    };
    const body = { model: "tiny", messages, tools: [runnable] };
    expect(await fake.chat.completions.runTools(body).finalContent()).toBe("It is sunny");
    const streaming = fake.chat.completions.runTools({ ...body, stream: true });
    expect(await streaming.finalContent()).toBe("It is sunny");
    expect(requestedCities).toEqual(["Rome", "Oslo", "Rome", "Oslo"]);
  });

  test("tool results are read as text and as parts", async () => {
    const first = await fake.chat.completions.create(onFakeEngine);
    const [message] = first.choices.map((choice) => choice.message);
    const contents = ["warm", [{ type: "text" as const, text: "cold" }]];
    const results = (message?.tool_calls ?? []).map(({ id }, index) => ({
      role: "tool" as const,
      tool_call_id: id,
      content: contents[index] ?? "",
    }));
    const response = await fake.chat.completions.create({
      ...onFakeEngine,
      messages: [...messages, ...(message === undefined ? [] : [message]), ...results],
    });
    expect(response.choices[0]?.message.content).toBe("It is sunny");
    expect(fixture.fake.requests.at(-1)?.input).toMatchObject({
      conversation: { messages: [{}, {}, { content: "warm" }, { content: "cold" }] },
    });
  });

  test("an engine failure is thrown, before the first token and after it", async () => {
    const atOnce = fake.chat.completions.create({ model: "tiny", messages: userMessage(cues.breakAtOnce) });
    await expect(atOnce).rejects.toBeInstanceOf(InternalServerError);
    const halfway = { model: "tiny", messages: userMessage(cues.breakHalfway) };
    const stream = await fake.chat.completions.create({ ...halfway, stream: true });
    const reading = (async () => {
      for await (const chunk of stream) expect(chunk.choices[0]?.finish_reason).toBeNull();
    })();
    await expect(reading).rejects.toBeInstanceOf(APIError);
    await expect(fake.chat.completions.stream(halfway).done()).rejects.toThrow(
      "The engine stopped while generating",
    );
  });

  test("aborted requests and streams throw and free their slots", async () => {
    const endless = { model: "tiny", messages: userMessage(cues.fallSilent) };
    const controller = new AbortController();
    const pending = fake.chat.completions.create(endless, { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    await expect(pending).rejects.toBeInstanceOf(APIUserAbortError);
    const stream = fake.chat.completions.stream(endless);
    stream.on("content", () => stream.abort());
    await expect(stream.done()).rejects.toBeInstanceOf(APIUserAbortError);
    const chunks = await fake.chat.completions.create({ ...endless, stream: true });
    await chunks[Symbol.asyncIterator]().next();
    chunks.controller.abort();
    const next = await fake.chat.completions.create({ model: "tiny", messages });
    expect(next.choices[0]?.message.content).toBe("It is sunny");
  });
});

test("chat completions were called with the right key, without a key and with a wrong key", async () => {
  const routes = ["POST /v1/chat/completions"];
  const calls = 57;
  const expected = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(expected);
  recordCalls("npm openai", tallyCalls(fixture), calls);
});
