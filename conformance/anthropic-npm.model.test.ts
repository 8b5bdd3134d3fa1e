import Anthropic, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  InternalServerError,
  NotFoundError,
} from "@anthropic-ai/sdk";
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
let scripted: Anthropic;
beforeAll(async () => {
  fixture = await startClientFixture();
  scripted = connect(`${fixture.scripted.url}/alt`, { apiKey: rightKey });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const connect = (baseURL: string, credentials: Pick<ClientOptions, "apiKey" | "authToken">) =>
  new Anthropic({ baseURL, maxRetries: 0, ...credentials });
const say = (content: string): Anthropic.MessageParam[] => [{ role: "user", content }];
const model = "smol";
const messages = say("Count from one to nine");
const eight = { model, messages, temperature: 0, max_tokens: 8 };
const weather = { name: "weather", description: "Tells the weather", input_schema: cityParameters };
const onFakeEngine = { model: "tiny", max_tokens: 2048, messages, tools: [weather] };
const parse = (input: unknown) => input;
const thinking = { type: "enabled" as const, budget_tokens: 1024 };
const inputOf = ({ input_tokens: input, cache_read_input_tokens: cached }: Anthropic.Usage) =>
  input + (cached ?? 0);

const callsOfBase: readonly [string, (client: Anthropic) => Promise<unknown>][] = [
  ["POST /v1/messages", async (client) => client.messages.create(eight)],
  ["POST /v1/messages/count_tokens", async (client) => client.messages.countTokens({ model, messages })],
  ["GET /v1/models", async (client) => client.models.list()],
  ["GET /v1/models/*", async (client) => client.models.retrieve("smol:latest")],
];
const bases = ["/alt", ""];
const endpoints = bases.flatMap((base) =>
  callsOfBase.map(([route, call]) => [route.replace(" ", ` ${base}`), base, call] as const),
);

test.each(endpoints)(
  "%s throws without a key and with a wrong key, and succeeds with the right key of either kind",
  async (...[, base, call]) => {
    const baseURL = fixture.real.url + base;
    const keyless = new Anthropic({
      baseURL,
      maxRetries: 0,
      apiKey: null,
      authToken: null,
      defaultHeaders: { "x-api-key": null, authorization: null },
    });
    const wrong = [{ apiKey: wrongKey }, { authToken: wrongKey, apiKey: null }];
    for (const client of [keyless, ...wrong.map((credentials) => connect(baseURL, credentials))]) {
      const refused = await call(client).catch((problem: unknown) => problem);
      expect(refused).toBeInstanceOf(AuthenticationError);
      expect(refused).toMatchObject({ status: 401, type: "authentication_error" });
    }
    await call(connect(baseURL, { apiKey: rightKey }));
    await call(connect(baseURL, { authToken: rightKey, apiKey: null }));
  },
);

describe.each(bases)("on real weights, at the base URL %j", (base) => {
  let real: Anthropic;
  beforeAll(() => {
    real = connect(fixture.real.url + base, { apiKey: rightKey });
  });

  test("models are listed and retrieved in Anthropic's format", async () => {
    const ids = (await Array.fromAsync(real.models.list())).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(["minilm:latest", "smol:latest", "tiny:latest"]);
    expect(await real.models.retrieve("smol:latest")).toMatchObject({ type: "model", id: "smol:latest" });
    await expect(real.models.retrieve("nobody")).rejects.toBeInstanceOf(NotFoundError);
  });

  test("complete and streamed messages are the same, and text is streamed in chunks", async () => {
    const whole = await real.messages.create(eight);
    expect(whole).toMatchObject({
      role: "assistant",
      stop_reason: "max_tokens",
      usage: { output_tokens: 8 },
    });
    const pieces: string[] = [];
    const stream = real.messages.stream(eight).on("text", (piece) => pieces.push(piece));
    expect((await stream.finalMessage()).content).toEqual(whole.content);
    expect(pieces.join("")).toBe(await stream.finalText());
    const events = await Array.fromAsync(await real.messages.create({ ...eight, stream: true }));
    expect(events.at(0)?.type).toBe("message_start");
    expect(events.at(-1)?.type).toBe("message_stop");
  });

  test("system prompts, blocks, system messages, documents and unknown fields are read, and count_tokens agrees", async () => {
    const text = { type: "text" as const, text: "Be brief" };
    const source = { type: "text" as const, media_type: "text/plain" as const, data: "Nine" };
    const document = { role: "user" as const, content: [{ type: "document" as const, source }, text] };
    const unknown = { context_management: { edits: [] } };
    for (const request of [
      { messages, system: "Be brief" },
      { messages, system: [text] },
      { messages: [{ role: "system" as const, content: "Be brief" }, ...messages] },
      { messages: [document] },
      { messages, ...unknown },
    ]) {
      const { input_tokens: counted } = await real.messages.countTokens({ model, ...request });
      const { usage } = await real.messages.create({ ...eight, max_tokens: 1, ...request });
      expect(counted).toBe(inputOf(usage));
    }
  });

  test("a prefilled message is continued and ends at a stop sequence, which is reported", async () => {
    const begun: Anthropic.MessageParam[] = [
      ...say("Count from one to six in digits, separated by commas."),
      { role: "assistant", content: "1, 2, 3," },
    ];
    const message = await real.messages.create({
      ...eight,
      messages: begun,
      max_tokens: 16,
      stop_sequences: ["5"],
    });
    expect(message).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "5" });
  });

  test("output matches a format, and the beta endpoint works too", async () => {
    const format = { type: "json_schema" as const, schema: okSchema };
    const shaped = await real.messages.create({ ...eight, max_tokens: 16, output_config: { format } });
    const [block] = shaped.content;
    expect(JSON.parse(block?.type === "text" ? block.text : "")).toEqual({ ok: expect.any(Boolean) });
    const beta = await real.beta.messages.create({ ...eight, betas: ["interleaved-thinking-2025-05-14"] });
    expect(beta.usage.output_tokens).toBe(8);
  });

  test("images, a prompt that is too long and an unknown model throw their error classes", async () => {
    const image = {
      type: "image" as const,
      source: { type: "base64" as const, media_type: "image/png" as const, data: pixel },
    };
    const seeing = real.messages.create({ ...eight, messages: [{ role: "user", content: [image] }] });
    await expect(seeing).rejects.toBeInstanceOf(BadRequestError);
    const long = real.messages.create({ ...eight, messages: say("word ".repeat(3000)) });
    await expect(long).rejects.toBeInstanceOf(BadRequestError);
    const unknown = real.messages.create({ ...eight, model: "nobody" });
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError);
  });
});

describe("on a fake engine", () => {
  const cities = ["Rome", "Oslo"];
  const choices: readonly [number, Anthropic.ToolChoice][] = [
    [2, { type: "auto" }],
    [2, { type: "any" }],
    [2, { type: "tool", name: "weather" }],
    [1, { type: "auto", disable_parallel_tool_use: true }],
    [1, { type: "any", disable_parallel_tool_use: true }],
    [0, { type: "none" }],
  ];

  test.each(choices)(
    "%i calls are returned for the choice %j, complete and streamed",
    async (count, tool_choice) => {
      const asked = { ...onFakeEngine, tool_choice };
      const whole = await scripted.messages.create(asked);
      const streamed = await scripted.messages.stream(asked).finalMessage();
      for (const { content, stop_reason } of [whole, streamed]) {
        const uses = content.filter((block) => block.type === "tool_use");
        expect(uses.map(({ input }) => input)).toEqual(cities.slice(0, count).map((city) => ({ city })));
        expect(new Set(uses.map(({ id }) => id)).size).toBe(count);
        expect(stop_reason).toBe(count === 0 ? "end_turn" : "tool_use");
      }
    },
  );

  test("a stream emits thinking, then arguments, and a complete message has the same blocks", async () => {
    const told: string[] = [];
    const stream = scripted.messages.stream({ ...onFakeEngine, thinking });
    stream.on("thinking", (piece) => told.push(piece));
    stream.on("inputJson", (piece) => told.push(piece));
    const streamed = await stream.finalMessage();
    expect(told).toEqual(["I look it up", '{"city":', '"Rome"}', '{"city":', '"Oslo"}']);
    const whole = await scripted.messages.create({ ...onFakeEngine, thinking });
    expect(whole.content.map(({ type }) => type)).toEqual(["thinking", "tool_use", "tool_use"]);
    expect(streamed.content.map(({ type }) => type)).toEqual(whole.content.map(({ type }) => type));
  });

  test("thinking blocks and results as text, as blocks and as an error lead to a response", async () => {
    const { content } = await scripted.messages.create({ ...onFakeEngine, thinking });
    const [rome = "", oslo = ""] = content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    const results: Anthropic.ToolResultBlockParam[] = [
      { type: "tool_result", tool_use_id: rome, content: [{ type: "text", text: "warm" }] },
      { type: "tool_result", tool_use_id: oslo, content: "no such city", is_error: true },
    ];
    const history: Anthropic.MessageParam[] = [
      ...messages,
      { role: "assistant", content },
      { role: "user", content: results },
    ];
    const answer = await scripted.messages.create({ ...onFakeEngine, thinking, messages: history });
    expect(answer.content.at(-1)).toEqual({ type: "text", text: "It is sunny" });
    expect(fixture.scripted.requests.at(-1)?.input).toMatchObject({
      conversation: {
        messages: [
          {},
          { reasoning: "I look it up" },
          { content: "warm" },
          { content: expect.stringContaining("no such city") },
        ],
      },
    });
  });

  test("the client's own tool runner gets a response, complete and streamed", async () => {
    const asked: unknown[] = [];
    const run = (input: unknown) => {
      asked.push(input);
      return "warm";
    };
    const body = { ...onFakeEngine, tools: [{ ...weather, run, parse }] };
    const answer = await scripted.beta.messages.toolRunner(body);
    expect(answer.content).toEqual([{ type: "text", text: "It is sunny" }]);
    const streaming = await scripted.beta.messages.toolRunner({ ...body, stream: true });
    expect(streaming.content).toEqual([{ type: "text", text: "It is sunny" }]);
    expect(asked).toEqual([...cities, ...cities].map((city) => ({ city })));
  });

  test("an engine failure is thrown, before the first token and after it", async () => {
    const atOnce = scripted.messages.create({ ...onFakeEngine, messages: say(cues.breakAtOnce) });
    await expect(atOnce).rejects.toBeInstanceOf(InternalServerError);
    const halfway = { ...onFakeEngine, messages: say(cues.breakHalfway) };
    const stream = await scripted.messages.create({ ...halfway, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toBeInstanceOf(APIError);
    await expect(scripted.messages.stream(halfway).finalMessage()).rejects.toBeInstanceOf(APIError);
  });

  test("an aborted stream throws and frees its slot", async () => {
    const stream = scripted.messages.stream({ ...onFakeEngine, messages: say(cues.fallSilent) });
    stream.on("text", () => stream.abort());
    await expect(stream.done()).rejects.toBeInstanceOf(APIUserAbortError);
    const next = await scripted.messages.create({ ...onFakeEngine, tools: [] });
    expect(next.content).toEqual([{ type: "text", text: "It is sunny" }]);
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 109;
  const wanted = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm @anthropic-ai/sdk", tallyCalls(fixture), calls);
});
