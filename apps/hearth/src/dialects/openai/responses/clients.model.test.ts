import OpenAI, { BadRequestError, NotFoundError } from "openai";
import { expect, test } from "vitest";
import { smol, startTestServer, tiny } from "../../../test/start-test-server.ts";
import { startResponsesServer } from "./test/start-responses-server.ts";

const stop = { do: "end", reason: "stop" } as const;

test("a complete response has every field that clients require, and echoes the request", async () => {
  const look = { type: "function", name: "look", parameters: { type: "object" }, strict: false } as const;
  await using server = await startResponsesServer({ script: () => [{ do: "write", text: "Hello" }, stop] });
  const response = await server.client().responses.create({
    model: "tiny",
    input: "Hello",
    instructions: "Be kind",
    metadata: { topic: "greeting" },
    tools: [look],
    tool_choice: "none",
    parallel_tool_calls: false,
    truncation: "auto",
  });
  expect(response).toMatchObject({
    id: expect.stringMatching(/^resp_[0-9a-f]{48}$/u),
    object: "response",
    created_at: expect.any(Number),
    completed_at: expect.any(Number),
    status: "completed",
    error: null,
    incomplete_details: null,
    instructions: "Be kind",
    metadata: { topic: "greeting" },
    model: "tiny",
    tools: [look],
    tool_choice: "none",
    parallel_tool_calls: false,
    truncation: "auto",
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    text: { format: { type: "text" } },
    access_programs: null,
    output_text: "Hello",
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  });
  await expect.poll(() => server.logRecord["stopReason"]).toBe("stop");
  expect(server.logRecord).toMatchObject({ model: "tiny", promptTokens: 1, outputTokens: 1 });
});

test("reasoning tokens are counted separately in the usage", async () => {
  await using server = await startResponsesServer({
    script: () => [
      { do: "emit", event: { type: "reasoning-delta", text: "so it is" } },
      ...["a ", "b ", "c ", "d "].map((text) => ({ do: "write", text }) as const),
      stop,
    ],
  });
  const { usage } = await server.client().responses.create({ model: "tiny", input: "Hello" });
  expect(usage).toMatchObject({ output_tokens: 4, output_tokens_details: { reasoning_tokens: 3 } });
});

test("a thousand ids of responses and messages are all different", async () => {
  await using server = await startResponsesServer({ script: () => [{ do: "write", text: "Hi" }, stop] });
  const { responses } = server.client();
  const ids: (string | undefined)[] = [];
  for (let round = 0; round < 20; round += 1) {
    const answers = Array.from({ length: 25 }, () => responses.create({ model: "tiny", input: "Hello" }));
    for (const { id, output } of await Promise.all(answers)) ids.push(id, output[0]?.id);
  }
  expect(new Set(ids).size).toBe(1000);
});

test("a tool round trip: the model calls, the client sends the items back with the result, the model continues", async () => {
  await using server = await startResponsesServer({
    script: (_request, turn) =>
      turn === 1
        ? [
            { do: "emit", event: { type: "tool-call-start", index: 0, id: "call_1", name: "weather" } },
            { do: "emit", event: { type: "tool-call-delta", index: 0, argumentsText: '{"city":"Rome"}' } },
            stop,
          ]
        : [{ do: "write", text: "Sunny" }, stop],
  });
  const { responses } = server.client();
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const tools = [{ type: "function", name: "weather", parameters, strict: true } as const];
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "Weather in Rome?" }];
  const first = await responses.parse({ model: "tiny", input, tools });
  const [call] = first.output;
  if (call?.type !== "function_call") throw new Error("no call");
  expect(call.parsed_arguments).toEqual({ city: "Rome" });
  input.push(
    { type: "function_call", call_id: call.call_id, name: call.name, arguments: call.arguments },
    { type: "function_call_output", call_id: call.call_id, output: "sunny" },
  );
  const second = await responses.create({ model: "tiny", input, tools });
  expect(second.output_text).toBe("Sunny");
});

test("errors are thrown as the client's own error classes", async () => {
  await using server = await startTestServer({ models: { tiny }, script: () => [stop] });
  const { responses } = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x", maxRetries: 0 });
  await expect(responses.create({ model: "missing", input: "Hello" })).rejects.toThrow(NotFoundError);
  await expect(responses.create({ model: "tiny", input: "Hello", tool_choice: "required" })).rejects.toThrow(
    BadRequestError,
  );
});

test("the model's temperature and top_p take precedence over the server's, and the request's over the model's", async () => {
  const own = { ...tiny, extras: { parameters: { temperature: 0.3, top_p: 0.5 } } };
  await using server = await startTestServer({ models: { own }, script: () => [stop] });
  const { responses } = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x", maxRetries: 0 });
  const left = await responses.create({ model: "own", input: "Hello" });
  expect(left).toMatchObject({ temperature: 0.3, top_p: 0.5 });
  await responses.create({ model: "own", input: "Hello", temperature: 1 });
  expect(server.requests.map(({ sampling }) => [sampling.temperature, sampling.topP])).toEqual([
    [0.3, 0.5],
    [1, 0.5],
  ]);
});

test("real weights: a complete and a streamed response, truncated at the limit, the second from the cache", async () => {
  await using server = await startTestServer({ models: { smol } });
  const { responses } = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x", maxRetries: 0 });
  const request = { model: "smol", input: "Name a colour", temperature: 0, max_output_tokens: 4 };
  const whole = await responses.create(request);
  expect(whole).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  expect(whole.usage?.output_tokens).toBe(4);
  expect(whole.output_text).not.toBe("");
  const streamed = await responses.stream(request).finalResponse();
  expect(streamed.output_text).toBe(whole.output_text);
  expect(streamed.usage?.input_tokens_details.cached_tokens).toBeGreaterThan(0);
});

test("real weights: output that matches a JSON Schema, and a call required of a model without tools", async () => {
  await using server = await startTestServer({ models: { smol } });
  const { responses } = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "x", maxRetries: 0 });
  const schema = {
    type: "object",
    properties: { colour: { enum: ["red", "blue"] } },
    required: ["colour"],
    additionalProperties: false,
  };
  const answer = await responses.create({
    model: "smol",
    input: "Name a colour",
    max_output_tokens: 16,
    text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
  });
  expect(["red", "blue"]).toContain(JSON.parse(answer.output_text).colour);
  const tools = [{ type: "function", name: "paint", parameters: schema, strict: true } as const];
  const called = await responses.create({
    model: "smol",
    input: "Paint it",
    tools,
    tool_choice: { type: "function", name: "paint" },
  });
  expect(called.output).toMatchObject([{ type: "function_call", name: "paint", status: "completed" }]);
});
