import { expect, test } from "vitest";
import { messagesOf, startResponsesServer, storeOf } from "./test/start-responses-server.ts";

const hello = { do: "write", text: "Hello" } as const;
const next = (id: string) => ({ model: "tiny", input: "Two", previous_response_id: id });
const stop = { do: "end", reason: "stop" } as const;

test("a stored response can be continued by its id, repeatedly", async () => {
  await using server = await startResponsesServer({
    script: () => [hello, stop],
    responses: storeOf(),
  });
  const { responses } = server.client();
  const first = await responses.create({ model: "tiny", input: "One", instructions: "Be kind" });
  expect(first).toMatchObject({ store: true, previous_response_id: null });
  const second = await responses.create({ model: "tiny", input: "Two", previous_response_id: first.id });
  expect(second.previous_response_id).toBe(first.id);
  await responses.create({ model: "tiny", input: "Three", previous_response_id: second.id });
  const output = { role: "assistant", content: "Hello" };
  // Instructions belong to one response and are not carried over.
  expect(messagesOf(server.requests[2])).toEqual([
    { role: "user", content: "One" },
    output,
    { role: "user", content: "Two" },
    output,
    { role: "user", content: "Three" },
  ]);
});

test("a streamed response can be continued as soon as its last event arrives", async () => {
  await using server = await startResponsesServer({
    script: () => [hello, stop],
    responses: storeOf(),
  });
  const { responses } = server.client();
  for await (const event of await responses.create({ model: "tiny", input: "One", stream: true })) {
    if (event.type !== "response.completed") continue;
    const second = await responses.create(next(event.response.id));
    expect(second.status).toBe("completed");
  }
  expect(messagesOf(server.requests[1])).toHaveLength(3);
});

test("a stored call needs only its id in the result, and the engine gets the function's name", async () => {
  const call = { type: "tool-call-start", index: 0, id: "call_7", name: "look" } as const;
  await using server = await startResponsesServer({
    script: (_request, turn) => (turn === 1 ? [{ do: "emit", event: call }, stop] : [hello, stop]),
    responses: storeOf(),
  });
  const { responses } = server.client();
  const tools = [{ type: "function", name: "look", parameters: {}, strict: false } as const];
  const first = await responses.create({ model: "tiny", input: "Look", tools });
  await responses.create({
    model: "tiny",
    input: [{ type: "function_call_output", call_id: "call_7", output: "a cat" }],
    previous_response_id: first.id,
    tools,
  });
  expect(messagesOf(server.requests[1])).toEqual([
    { role: "user", content: "Look" },
    { role: "assistant", content: null, toolCalls: [{ id: "call_7", name: "look", arguments: {} }] },
    { role: "tool", content: "a cat", toolCallId: "call_7", toolName: "look" },
  ]);
});

test("a server without stored responses rejects previous_response_id and names the flag", async () => {
  await using server = await startResponsesServer({ script: () => [hello, stop] });
  const { responses } = server.client();
  const first = await responses.create({ model: "tiny", input: "One", store: true });
  expect(first).toHaveProperty("store", false);
  await expect(
    responses.create({ model: "tiny", input: "Two", previous_response_id: "resp_1" }),
  ).rejects.toMatchObject({
    status: 400,
    param: "previous_response_id",
    message: expect.stringContaining("--max-stored-responses"),
  });
});

test("only stored responses of the same key can be continued", async () => {
  await using server = await startResponsesServer({
    keys: ["mine", "other"],
    script: () => [hello, stop],
    responses: storeOf(),
  });
  const mine = server.client("mine").responses;
  const first = await mine.create({ model: "tiny", input: "One" });
  const unkept = await mine.create({ model: "tiny", input: "One", store: false });
  const refusal = { status: 400, param: "previous_response_id", code: "previous_response_not_found" };
  await expect(server.client("other").responses.create(next(first.id))).rejects.toMatchObject(refusal);
  await expect(mine.create(next("resp_unknown"))).rejects.toMatchObject(refusal);
  await expect(mine.create(next(unkept.id))).rejects.toMatchObject(refusal);
  expect((await mine.create(next(first.id))).status).toBe("completed");
});

test("an invalid field in a continued request is named by its path in that request", async () => {
  await using server = await startResponsesServer({
    script: () => [hello, stop],
    responses: storeOf(),
  });
  const { responses } = server.client();
  const first = await responses.create({ model: "tiny", input: "One" });
  const input = [{ type: "function_call_output", output: "x" } as const];
  await expect(responses.create({ ...next(first.id), input })).rejects.toMatchObject({
    param: "input.0.call_id",
  });
});

test("real weights: the second turn is longer than the first, and hits the cache", async () => {
  await using server = await startResponsesServer({ responses: storeOf() });
  const { responses } = server.client();
  const more = { temperature: 0, max_output_tokens: 4, options: { num_ctx: 256 } };
  const first = await responses.create({ model: "tiny", input: "One", ...more });
  const second = await responses.create({ ...next(first.id), ...more });
  expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? Number.POSITIVE_INFINITY);
  expect(second.usage?.input_tokens_details.cached_tokens).toBeGreaterThan(0);
});
