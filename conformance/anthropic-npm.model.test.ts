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
import { tiny } from "../apps/hearth/src/test/start-test-server.ts";
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
let real: Anthropic;
let fake: Anthropic;
beforeAll(async () => {
  fixture = await startClientFixture({ "team/third:v1": tiny });
  real = connect(`${fixture.real.url}/alt`, { apiKey: rightKey });
  fake = connect(`${fixture.fake.url}/alt`, { apiKey: rightKey });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const connect = (baseURL: string, credentials: Pick<ClientOptions, "apiKey" | "authToken">) =>
  new Anthropic({ baseURL, maxRetries: 0, ...credentials });
const userMessage = (content: string): Anthropic.MessageParam[] => [{ role: "user", content }];
const model = "smol";
const messages = userMessage("Count from one to nine");
const eight = { model, messages, temperature: 0, max_tokens: 8 };
const weather = { name: "weather", description: "Tells the weather", input_schema: cityParameters };
const onFakeEngine = { model: "tiny", max_tokens: 2048, messages, tools: [weather] };
const parse = (input: unknown) => input;
const thinking = { type: "enabled" as const, budget_tokens: 1024 };
const inputOf = ({ input_tokens: input, cache_read_input_tokens: cached }: Anthropic.Usage) =>
  input + (cached ?? 0);

const callsOfBase: readonly [string, (client: Anthropic) => Promise<unknown>][] = [
  ["POST /v1/messages", async (client) => checkMessage(await client.messages.create(eight))],
  ["POST /v1/messages/count_tokens", async (client) => client.messages.countTokens({ model, messages })],
  ["GET /v1/models", async (client) => client.models.list()],
  ["GET /v1/models/*", async (client) => client.models.retrieve("smol:latest")],
];
const bases = ["/alt", ""];
const endpoints = bases.flatMap((base) =>
  callsOfBase.map(([route, call]) => [route.replace(" ", ` ${base}`), base, call] as const),
);

function checkMessage(message: Anthropic.Message): void {
  expect(message).toMatchObject({
    content: [{ type: "text", text: expect.stringMatching(/./u) }],
    stop_reason: "max_tokens",
    usage: { output_tokens: 8 },
    _request_id: expect.stringMatching(/^req_/u),
  });
}

// The first test of the file, because nothing is cached only while the model has not been used.
test("cached tokens missing in usage: the second identical request reports them", async () => {
  const long = { ...eight, max_tokens: 1, system: "Answer in one word. ".repeat(20) };
  const first = await real.messages.create(long);
  const second = await real.messages.create(long);
  expect(first.usage.cache_read_input_tokens).toBe(0);
  expect(second.usage.cache_read_input_tokens).toBeGreaterThan(0.9 * inputOf(second.usage));
  expect(inputOf(second.usage)).toBe(inputOf(first.usage));
});

test("a model that thinks for ever never responds: at its budget the stream helper gets text after thinking", async () => {
  const started: Anthropic.MessageParam = { role: "assistant", content: "<think>\n" };
  const emitted: string[] = [];
  const stream = real.messages.stream({
    ...eight,
    model: "team/third:v1",
    max_tokens: 256,
    messages: [...messages, started],
    thinking: { type: "enabled", budget_tokens: 32 },
  });
  stream.on("thinking", () => emitted.push("thinking"));
  stream.on("text", () => emitted.push("text"));
  const { content, usage } = await stream.finalMessage();
  expect(emitted.filter((name, index) => name !== emitted[index - 1])).toEqual(["thinking", "text"]);
  expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
  expect(usage.output_tokens).toBeLessThanOrEqual(256);
});

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
      const rejected = await call(client).catch((error: unknown) => error);
      expect(rejected).toBeInstanceOf(AuthenticationError);
      expect(rejected).toMatchObject({ status: 401, type: "authentication_error" });
    }
    await call(connect(baseURL, { apiKey: rightKey }));
    await call(connect(baseURL, { authToken: rightKey, apiKey: null }));
  },
);

describe.each(bases)("on real weights, at the base URL %j", (base) => {
  const create = (more: object) => client.messages.create({ ...eight, ...more, stream: false });
  let client: Anthropic;
  beforeAll(() => {
    client = connect(fixture.real.url + base, { apiKey: rightKey });
  });

  test("models are listed by page and retrieved in Anthropic's format", async () => {
    const names: string[] = [];
    for await (const { id } of client.models.list({ limit: 1 })) names.push(id);
    expect(names.toSorted()).toEqual(["minilm:latest", "smol:latest", "team/third:v1", "tiny:latest"]);
    const page = await client.models.list();
    expect([page.has_more, page.first_id, page.last_id]).toEqual([false, names[0], names[3]]);
    const before = await client.models.list({ before_id: names[2] ?? "", limit: 1 });
    expect([before.has_more, before.data[0]?.id]).toEqual([true, names[1]]);
    expect(await client.models.retrieve("team/third:v1")).toMatchObject({
      type: "model",
      id: "team/third:v1",
      display_name: "team/third:v1",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u),
      max_input_tokens: expect.any(Number),
    });
    expect(await client.models.retrieve("smol")).toMatchObject({ type: "model", id: "smol:latest" });
    await expect(client.models.retrieve("nobody")).rejects.toBeInstanceOf(NotFoundError);
  });

  test("complete and streamed messages are the same, with exact prompt tokens at the start", async () => {
    const complete = await client.messages.create(eight);
    expect(complete).toMatchObject({
      role: "assistant",
      stop_reason: "max_tokens",
      usage: { output_tokens: 8 },
    });
    const chunks: string[] = [];
    const stream = client.messages.stream(eight).on("text", (chunk) => chunks.push(chunk));
    const streamed = await stream.finalMessage();
    expect(streamed.content).toEqual(complete.content);
    expect(streamed.usage.output_tokens).toBe(complete.usage.output_tokens);
    expect(chunks.join("")).toBe(await stream.finalText());
    expect(chunks.length).toBeGreaterThan(1);
    const [first, ...rest] = await Array.fromAsync(await client.messages.create({ ...eight, stream: true }));
    expect(first?.type === "message_start" ? inputOf(first.message.usage) : first).toBe(
      inputOf(complete.usage),
    );
    expect(rest.at(-1)?.type).toBe("message_stop");
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
      const { input_tokens: counted } = await client.messages.countTokens({ model, ...request });
      const { usage } = await client.messages.create({ ...eight, max_tokens: 1, ...request });
      expect(counted).toBe(inputOf(usage));
    }
  });

  test("a prefilled message is continued and ends at a stop sequence, which is reported", async () => {
    const begun: Anthropic.MessageParam[] = [
      ...userMessage("Count from one to six in digits, separated by commas."),
      { role: "assistant", content: "1, 2, 3," },
    ];
    const message = await client.messages.create({
      ...eight,
      messages: begun,
      max_tokens: 16,
      stop_sequences: ["5"],
    });
    expect(message).toMatchObject({
      content: [{ type: "text", text: expect.stringMatching(/^ ?4/u) }],
      stop_reason: "stop_sequence",
      stop_sequence: "5",
    });
  });

  test("output matches a format, and the beta endpoint works too", async () => {
    const format = { type: "json_schema" as const, schema: okSchema };
    const shaped = await client.messages.create({ ...eight, max_tokens: 16, output_config: { format } });
    const [block] = shaped.content;
    expect(JSON.parse(block?.type === "text" ? block.text : "")).toEqual({ ok: expect.any(Boolean) });
    const beta = await client.beta.messages.create({ ...eight, betas: ["interleaved-thinking-2025-05-14"] });
    expect(beta.usage.output_tokens).toBe(8);
  });

  test("an image for a model without vision is accepted", async () => {
    const source = { type: "base64", media_type: "image/png", data: pixel };
    const sent = [{ role: "user", content: [{ type: "image", source }] }];
    expect((await create({ messages: sent, max_tokens: 1 })).usage.output_tokens).toBe(1);
  });

  test("max_tokens 0 only evaluates the prompt, and a web search is unavailable", async () => {
    expect(await create({ max_tokens: 0 })).toMatchObject({
      content: [],
      stop_reason: "max_tokens",
      usage: { output_tokens: 0 },
    });
    const { content } = await create({ tools: [{ type: "web_search_20250305", name: "web_search" }] });
    expect(content).toMatchObject([
      { type: "server_tool_use", name: "web_search" },
      { type: "web_search_tool_result", content: { error_code: "unavailable" } },
    ]);
  });

  test("requests that cannot be served throw their error classes", async () => {
    await expect(create({ messages: userMessage("word ".repeat(3000)) })).rejects.toBeInstanceOf(
      BadRequestError,
    );
    await expect(create({ max_tokens: "many" })).rejects.toBeInstanceOf(BadRequestError);
    await expect(create({ model: "minilm" })).rejects.toThrow(/does not support completion/u);
    await expect(create({ model: "nobody" })).rejects.toBeInstanceOf(NotFoundError);
    await expect(create({ model: "../x" })).rejects.toBeInstanceOf(NotFoundError);
  });
});

/** A turn of Claude Code, whose system prompt starts with a value that changes every time. */
const sendCodeTurn = (value: string, history: Anthropic.MessageParam[]) =>
  real.messages.create({
    ...eight,
    max_tokens: 2,
    system: [
      { type: "text", text: `x-anthropic-billing-header: cc_version=2.1.9; cch=${value};` },
      { type: "text", text: "You are a helper who writes code. ".repeat(20) },
    ],
    messages: history,
  });

describe("on real weights", () => {
  const hello = { role: "user", content: "Hello" } as const;

  test("count_tokens 404: it equals the later usage, with system, tools, prefill and thinking", async () => {
    const requests: Omit<Anthropic.MessageCreateParamsNonStreaming, "model" | "max_tokens">[] = [
      { messages: [hello] },
      { messages: [hello], system: "Be brief" },
      { messages: [hello], tools: [weather] },
      { messages: [hello], tools: [weather], tool_choice: { type: "none" } },
      { messages: [hello, { role: "assistant", content: "Well," }] },
      { messages: [hello], thinking },
    ];
    for (const name of ["smol", "tiny"]) {
      const counts: number[] = [];
      for (const request of requests) {
        const { input_tokens: counted } = await real.messages.countTokens({ model: name, ...request });
        const { usage } = await real.messages.create({ model: name, max_tokens: 1, ...request });
        expect({ name, request, counted }).toEqual({ name, request, counted: inputOf(usage) });
        counts.push(counted);
      }
      expect(counts[2]).toBeGreaterThan(counts[3] ?? 0);
    }
  });

  test("changing billing header in Claude Code system breaks cache: the second turn hits the cache", async () => {
    const first = await sendCodeTurn("a1b2c", [hello]);
    const history = [hello, { role: "assistant", content: first.content } as const, hello];
    const { usage } = await sendCodeTurn("ffff0", history);
    expect(usage.cache_read_input_tokens).toBeGreaterThan(0.9 * inputOf(first.usage));
  });

  test("a call is required of a model whose template has no tools", async () => {
    const input_schema = { type: "object" as const, properties: {}, additionalProperties: false };
    const called = await real.messages.create({
      ...eight,
      max_tokens: 40,
      tools: [{ name: "now", input_schema }],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
    });
    expect(called.content).toEqual([
      { type: "tool_use", id: expect.stringMatching(/^toolu_/u), name: "now", input: {} },
    ]);
    expect(called.stop_reason).toBe("tool_use");
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
      const request = { ...onFakeEngine, tool_choice };
      const complete = await fake.messages.create(request);
      const streamed = await fake.messages.stream(request).finalMessage();
      for (const { content, stop_reason } of [complete, streamed]) {
        const uses = content.filter((block) => block.type === "tool_use");
        expect(uses.map(({ input }) => input)).toEqual(cities.slice(0, count).map((city) => ({ city })));
        expect(new Set(uses.map(({ id }) => id)).size).toBe(count);
        expect(stop_reason).toBe(count === 0 ? "end_turn" : "tool_use");
      }
    },
  );

  test("a stream emits thinking, text and arguments in order, and a complete message has the same blocks", async () => {
    const request = { ...onFakeEngine, messages: userMessage(cues.speakFirst), thinking };
    const emitted: string[] = [];
    const stream = fake.messages.stream(request);
    stream.on("thinking", (chunk) => emitted.push(`thinking ${chunk}`));
    stream.on("text", (chunk) => emitted.push(`text ${chunk}`));
    stream.on("inputJson", (chunk) => emitted.push(`json ${chunk}`));
    const streamed = await stream.finalMessage();
    expect(emitted).toEqual([
      "thinking I look it up",
      "text Let me look",
      // A key is held back until it is known to be one.
      ...cities.flatMap((city) => ["json {", `json "city":"${city}"}`]),
    ]);
    expect(streamed.content.at(-1)).toMatchObject({ type: "tool_use", input: { city: "Oslo" } });
    expect(streamed.stop_reason).toBe("tool_use");
    const complete = await fake.messages.create(request);
    expect(complete.content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use", "tool_use"]);
    expect(streamed.content.map(({ type }) => type)).toEqual(complete.content.map(({ type }) => type));
  });

  test("thinking blocks and results as text, as blocks and as an error lead to a response", async () => {
    const { content } = await fake.messages.create({ ...onFakeEngine, thinking });
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
    const response = await fake.messages.create({ ...onFakeEngine, thinking, messages: history });
    expect(response.content.at(-1)).toEqual({ type: "text", text: "It is sunny" });
    expect(fixture.fake.requests.at(-1)?.input).toMatchObject({
      conversation: {
        messages: [
          messages[0],
          {
            role: "assistant",
            content: null,
            reasoning: "I look it up",
            toolCalls: [
              { id: rome, name: "weather", arguments: { city: "Rome" } },
              { id: oslo, name: "weather", arguments: { city: "Oslo" } },
            ],
          },
          { role: "tool", content: "warm", toolCallId: rome, toolName: "weather" },
          { role: "tool", content: expect.stringContaining("no such city"), toolCallId: oslo },
        ],
      },
    });
  });

  test("the client's own tool runner gets a response, complete and streamed", async () => {
    const inputs: unknown[] = [];
    const run = (input: unknown) => {
      inputs.push(input);
      return "warm";
    };
    const body = { ...onFakeEngine, tools: [{ ...weather, run, parse }] };
    const response = await fake.beta.messages.toolRunner(body);
    expect(response.content).toEqual([{ type: "text", text: "It is sunny" }]);
    // It continues a thread, which would have no history; on its error it sends everything again.
    const history = {
      messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }, { role: "tool" }],
    };
    expect(fixture.fake.requests.at(-1)?.input).toMatchObject({ conversation: { ...history, tools: [{}] } });
    const streaming = await fake.beta.messages.toolRunner({ ...body, stream: true });
    expect(streaming.content).toEqual([{ type: "text", text: "It is sunny" }]);
    expect(inputs).toEqual([...cities, ...cities].map((city) => ({ city })));
  });

  test("an engine failure is thrown, before the first token and after it", async () => {
    const atOnce = fake.messages.create({ ...onFakeEngine, messages: userMessage(cues.breakAtOnce) });
    await expect(atOnce).rejects.toBeInstanceOf(InternalServerError);
    const halfway = { ...onFakeEngine, messages: userMessage(cues.breakHalfway) };
    const stream = await fake.messages.create({ ...halfway, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toBeInstanceOf(APIError);
    await expect(fake.messages.stream(halfway).finalMessage()).rejects.toBeInstanceOf(APIError);
  });

  test("eight concurrent streams with thinking give eight complete messages", async () => {
    const request = { ...onFakeEngine, tools: [], thinking };
    const streams = Array.from({ length: 8 }, () => fake.messages.stream(request).finalMessage());
    for (const { content } of await Promise.all(streams)) {
      expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    }
  });

  test("an aborted stream throws and frees its slot", async () => {
    const stream = fake.messages.stream({ ...onFakeEngine, messages: userMessage(cues.fallSilent) });
    stream.on("text", () => stream.abort());
    await expect(stream.done()).rejects.toBeInstanceOf(APIUserAbortError);
    const next = await fake.messages.create({ ...onFakeEngine, tools: [] });
    expect(next.content).toEqual([{ type: "text", text: "It is sunny" }]);
  });
});

test("every endpoint was called with the right key, without a key and with a wrong key", async () => {
  const routes = endpoints.map(([route]) => route).toSorted();
  const calls = 171;
  const wanted = { succeeded: routes, withoutKey: routes, withWrongKey: routes, calls };
  await expect.poll(() => tallyCalls(fixture)).toMatchObject(wanted);
  recordCalls("npm @anthropic-ai/sdk", tallyCalls(fixture), calls);
});
