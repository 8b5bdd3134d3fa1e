import { describe, expect, test } from "vitest";
import { smol, startTestServer, type TestServer, tiny } from "../../../test/start-test-server.ts";
import { fakeOutput, keysOf, recorded, sendRequest } from "../test/send-request.ts";

const userMessages = [{ role: "user", content: "What is 2+2?" }];
const greedy = { temperature: 0, seed: 1, num_predict: 8 };
const picture = "iVBORw0KGgo=";

function conversationOf(server: TestServer, turn = 0) {
  const input = server.requests[turn]?.input;
  return input?.type === "conversation" ? input.conversation : undefined;
}

function comparable(keys: readonly string[]): readonly string[] {
  return keys.filter((key) => key !== "prompt_eval_cached_count" && key !== "load_duration");
}

test("a response has the recorded fields in order, streamed, complete and with log-probabilities, on real weights", async () => {
  await using server = await startTestServer({ models: { smol } });
  const streamed = await sendRequest(server, "/api/chat", {
    model: "smol",
    messages: userMessages,
    options: greedy,
  });
  const [first, last] = recorded["chat stream"].body;
  expect(keysOf(streamed.objects[0])).toEqual(keysOf(first));
  expect(comparable(keysOf(streamed.last))).toEqual(comparable(keysOf(last)));
  const body = {
    model: "smol",
    messages: userMessages,
    options: { ...greedy, num_predict: 2 },
    stream: false,
  };
  const complete = await sendRequest(server, "/api/chat", body);
  expect(comparable(keysOf(complete.last))).toEqual(comparable(keysOf(recorded.chat.body)));
  const measured = await sendRequest(server, "/api/chat", { ...body, logprobs: true, top_logprobs: 2 });
  expect(comparable(keysOf(measured.last))).toEqual(comparable(keysOf(recorded["chat logprobs"].body)));
  const { logprobs } = measured.last;
  expect(logprobs).toHaveLength(2);
  expect(logprobs).toMatchObject([
    { token: "The", bytes: [84, 104, 101], top_logprobs: [{ token: "The" }, { token: expect.any(String) }] },
    { logprob: expect.any(Number) },
  ]);
  const bare = await sendRequest(server, "/api/chat", { ...body, logprobs: true });
  expect(bare.last["logprobs"]).toMatchObject([{ token: "The" }, {}]);
  expect(JSON.stringify(bare.last)).not.toContain("top_logprobs");
  expect(complete.last).not.toHaveProperty("logprobs");
}, 60_000);

test("a chat without messages loads the model, or unloads it if keep_alive is 0", async () => {
  await using server = await startTestServer({ models: { smol }, script: fakeOutput("4") });
  const loaded = await sendRequest(server, "/api/chat", { model: "smol", messages: [] });
  expect(keysOf(loaded.last)).toEqual(keysOf(recorded["chat empty messages"].body));
  expect(loaded.last["done_reason"]).toBe("load");
  const unloaded = await sendRequest(server, "/api/chat", { model: "smol", keep_alive: 0 });
  expect(unloaded.last["done_reason"]).toBe("unload");
  expect(server.scheduler.running()).toHaveLength(0);
});

function callFor(city: string): string {
  return `<tool_call>{"name": "weather", "arguments": {"city": "${city}"}}</tool_call>`;
}

describe("tools", () => {
  const parameters = {
    type: "object",
    $defs: { unit: { enum: [1, 2, "C"] } },
    properties: { city: { anyOf: [{ type: "string" }, { type: "null" }] }, unit: { $ref: "#/$defs/unit" } },
    required: ["city"],
  };
  const tools = [{ type: "function", function: { name: "weather", description: "Tells it", parameters } }];
  test("parallel calls are complete, each with its own index and id, and the turn ends with stop", async () => {
    const script = fakeOutput(callFor("Rome").slice(0, 20), callFor("Rome").slice(20), callFor("Oslo"));
    await using server = await startTestServer({ models: { tiny }, script });
    const { objects, last } = await sendRequest(server, "/api/chat", {
      model: "tiny",
      messages: userMessages,
      tools,
    });
    const calls = objects.flatMap(({ message }) => (message as { tool_calls?: unknown[] }).tool_calls ?? []); // A chat chunk has a message.
    expect(calls).toMatchObject(
      [
        { id: /./u, function: { index: 0, name: "weather", arguments: { city: "Rome" } } },
        { id: /./u, function: { index: 1, name: "weather", arguments: { city: "Oslo" } } },
      ].map((expected) => ({ ...expected, id: expect.stringMatching(expected.id) })),
    );
    const ids = calls.map((each) => (each as { id: string }).id); // Checked above.
    expect(new Set(ids).size).toBe(2);
    expect(last).toMatchObject({ done: true, done_reason: "stop", message: { content: "" } });
    const complete = await sendRequest(server, "/api/chat", {
      model: "tiny",
      messages: userMessages,
      tools,
      stream: false,
    });
    expect(complete.last).toMatchObject({
      done_reason: "stop",
      message: { content: "", tool_calls: [{}, {}] },
    });
  });

  test("the schema of a tool reaches the model unchanged", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    await sendRequest(server, "/api/chat", { model: "tiny", messages: userMessages, tools });
    expect(JSON.stringify(conversationOf(server)?.tools?.[0]?.parameters)).toBe(JSON.stringify(parameters));
  });

  test("are rejected by a model whose template has none, and an empty list is accepted", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("4") });
    const rejected = await sendRequest(server, "/api/chat", { model: "smol", messages: userMessages, tools });
    expect(rejected.status).toBe(400);
    expect(rejected.last).toEqual({
      error: "registry.ollama.ai/library/smol:latest does not support tools",
      code: "capability-missing",
      model: "smol",
      capability: "tools",
    });
    const accepted = await sendRequest(server, "/api/chat", {
      model: "smol",
      messages: userMessages,
      tools: [],
    });
    expect(accepted.status).toBe(200);
  });

  test("arguments in the history may be an object, JSON text, empty, null or absent", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    const forms = [{ city: "Rome" }, '{"city":"Rome"}', "", null, undefined];
    const messages = forms.flatMap((form) => [
      { role: "assistant", content: "", tool_calls: [{ function: { name: "weather", arguments: form } }] },
      { role: "tool", content: "Sunny", tool_name: "weather", tool_call_id: "call_a" },
    ]);
    expect(
      (await sendRequest(server, "/api/chat", { model: "tiny", messages: [...messages, ...userMessages] }))
        .status,
    ).toBe(200);
    const history = conversationOf(server)?.messages ?? [];
    const calls = history.flatMap((each) => (each.role === "assistant" ? (each.toolCalls ?? []) : []));
    expect(calls.map((each) => each.arguments)).toEqual([{ city: "Rome" }, { city: "Rome" }, {}, {}, {}]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(5);
    expect(history[1]).toEqual({ role: "tool", content: "Sunny", toolName: "weather", toolCallId: "call_a" });
    const broken = { role: "assistant", tool_calls: [{ function: { name: "f", arguments: "[1]" } }] };
    const rejected = await sendRequest(server, "/api/chat", { model: "tiny", messages: [broken] });
    expect(rejected.status).toBe(400);
    expect(rejected.last["error"]).toContain("messages.0.tool_calls.0.function.arguments must be an object");
  });
});

describe("thinking", () => {
  const description = { chatTemplate: "<think></think>" };

  test("is on by default for models that support it, and is separate from the content", async () => {
    const script = fakeOutput("<think>Two and two", "</think>", "4");
    await using server = await startTestServer({ models: { tiny }, script, description });
    const streamed = await sendRequest(server, "/api/chat", { model: "tiny", messages: userMessages });
    expect(streamed.objects[0]?.["message"]).toEqual({
      role: "assistant",
      content: "",
      thinking: "Two and two",
    });
    const complete = await sendRequest(server, "/api/chat", {
      model: "tiny",
      messages: userMessages,
      stream: false,
    });
    expect(complete.last["message"]).toEqual({ role: "assistant", content: "4", thinking: "Two and two" });
    await sendRequest(server, "/api/chat", { model: "tiny", messages: userMessages, think: false });
    await sendRequest(server, "/api/chat", { model: "tiny", messages: userMessages, think: "high" });
    const conversations = [0, 2, 3].map((turn) => conversationOf(server, turn));
    expect(conversations.map((each) => each?.thinking)).toEqual([true, false, true]);
    expect(conversations[2]?.templateVariables).toEqual({ reasoning_effort: "high" });
    const generated = await sendRequest(server, "/api/generate", {
      model: "tiny",
      prompt: "2+2",
      stream: false,
    });
    expect(generated.last).toMatchObject({ response: "4", thinking: "Two and two" });
  });

  test("is rejected by a model without it, and turning it off is accepted", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("4") });
    for (const think of [true, "low"]) {
      const rejected = await sendRequest(server, "/api/chat", {
        model: "smol",
        messages: userMessages,
        think,
      });
      expect(rejected.status).toBe(400);
      expect(rejected.last).toEqual({
        error: '"smol" does not support thinking',
        code: "capability-missing",
        model: "smol",
        capability: "thinking",
      });
    }
    expect(
      (await sendRequest(server, "/api/chat", { model: "smol", messages: userMessages, think: false }))
        .status,
    ).toBe(200);
    const unknown = await sendRequest(server, "/api/chat", {
      model: "smol",
      messages: userMessages,
      think: "deeply",
    });
    expect(unknown.last["error"]).toContain('invalid think value: "deeply"');
  });

  test("with a format constrains the content, which is valid JSON, on real weights", async () => {
    await using server = await startTestServer({ models: { tiny } });
    const format = { type: "object", properties: { a: { enum: [1] } }, required: ["a"] };
    const options = { temperature: 0, num_predict: 16 };
    const body = { model: "tiny", messages: userMessages, format, options, stream: false };
    const { message } = (await sendRequest(server, "/api/chat", body)).last as {
      message: { content: string };
    }; // A chat response has a message.
    expect(JSON.parse(message.content)).toEqual({ a: 1 });
  }, 60_000);
});

describe("format", () => {
  test("accepts json, a schema or nothing, and rejects anything else", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("4") });
    const schema = { type: "object" };
    for (const format of ["json", schema, "", null]) {
      expect(
        (await sendRequest(server, "/api/chat", { model: "smol", messages: userMessages, format })).status,
      ).toBe(200);
    }
    expect(server.requests.map(({ constraint }) => constraint)).toEqual([
      { type: "json" },
      { type: "json-schema", schema },
      undefined,
      undefined,
    ]);
    const rejected = await sendRequest(server, "/api/chat", {
      model: "smol",
      messages: userMessages,
      format: "yaml",
    });
    expect(rejected.status).toBe(400);
    expect(rejected.last["error"]).toContain("invalid format");
  });
});

describe("messages", () => {
  test("accept roles in upper or lower case, and reject unknown roles", async () => {
    await using server = await startTestServer({ models: { smol }, script: fakeOutput("4") });
    await sendRequest(server, "/api/chat", { model: "smol", messages: [{ role: "USER", content: "Hi" }] });
    expect(conversationOf(server)?.messages).toEqual([{ role: "user", content: "Hi" }]);
    const rejected = await sendRequest(server, "/api/chat", { model: "smol", messages: [{ role: "ghost" }] });
    expect(rejected.status).toBe(400);
    expect(rejected.last["error"]).toContain("messages.0.role must be");
  });

  test("with an image are rejected by a model without vision", async () => {
    const messages = [{ role: "user", content: "Look", images: [picture] }];
    await using blind = await startTestServer({ models: { smol }, script: fakeOutput("4") });
    const rejected = await sendRequest(blind, "/api/chat", { model: "smol", messages });
    expect(rejected.status).toBe(400);
    expect(rejected.last).toEqual({
      error: "registry.ollama.ai/library/smol:latest does not support vision",
      code: "capability-missing",
      model: "smol",
      capability: "vision",
    });
  });

  test("that do not fit are dropped, oldest first, and reported in a header and the log, or rejected, on real weights", async () => {
    await using server = await startTestServer({ models: { tiny }, limits: { contextTokens: 256 } });
    const long = "one two three four five six seven ".repeat(6);
    const turns = Array.from({ length: 8 }, () => [
      { role: "user", content: long },
      { role: "assistant", content: "Yes." },
    ]).flat();
    const body = { model: "tiny", messages: [...turns, ...userMessages], think: false, options: greedy };
    const cut = await sendRequest(server, "/api/chat", body);
    expect(cut.status).toBe(200);
    expect(Number(cut.headers.get("x-context-truncated"))).toBeGreaterThan(0);
    expect(server.logRecords().at(-1)?.["droppedMessages"]).toBe(
      Number(cut.headers.get("x-context-truncated")),
    );
    const complete = await sendRequest(server, "/api/chat", { ...body, stream: false });
    expect(complete.headers.get("x-context-truncated")).toBe(cut.headers.get("x-context-truncated"));
    const rejected = await sendRequest(server, "/api/chat", { ...body, truncate: false });
    expect(rejected.status).toBe(400);
    expect(rejected.last["error"]).toMatch(
      /^prompt too long; exceeded max context length by \d+ tokens \(set by --context-length/u,
    );
    const short = await sendRequest(server, "/api/chat", { ...body, messages: userMessages });
    expect(short.headers.has("x-context-truncated")).toBe(false);
  }, 60_000);
});
