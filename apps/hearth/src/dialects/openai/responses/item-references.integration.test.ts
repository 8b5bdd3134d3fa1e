import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import {
  messagesOf,
  type ResponsesServer,
  startResponsesServer,
  storeOf,
} from "./test/start-responses-server.ts";

const stop = { do: "end", reason: "stop" } as const;
const script: FakeEngineScript = () => [
  { do: "emit", event: { type: "reasoning-delta", text: "Hm" } },
  { do: "write", text: "Hello" },
  stop,
];

async function send(server: ResponsesServer, body: object, key = "any") {
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "tiny", ...body }),
  });
  // Both shapes are checked below.
  const value = (await response.json()) as {
    output?: { id: string }[];
    error?: { code: string; message: string };
  };
  return { ...value, status: response.status };
}

/** A user message as the AI SDK writes it. */
const user = (text: string) => ({ role: "user", content: [{ type: "input_text", text }] });

test("the second turn of the AI SDK's openai(model) is not rejected: it refers to earlier output by id", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const first = await send(server, { input: [user("One")] });
  const references = (first.output ?? []).map(({ id }) => ({ type: "item_reference", id }));
  expect(references).toHaveLength(2);
  const second = await send(server, { input: [user("One"), ...references, user("Two")] });
  expect(second.status).toBe(200);
  expect(messagesOf(server.requests[1])).toEqual([
    { role: "user", content: "One" },
    { role: "assistant", content: "Hello", reasoning: "Hm" },
    { role: "user", content: "Two" },
  ]);
});

test.each([
  ["null as its type", { type: null }],
  ["no type", {}],
])("an item reference with %s is resolved", async (_title, type) => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const first = await send(server, { input: [user("One")] });
  const id = first.output?.at(-1)?.id;
  const second = await send(server, { input: [user("One"), { id, ...type }, user("Two")] });
  expect(second.status).toBe(200);
  expect(messagesOf(server.requests[1])[1]).toEqual({ role: "assistant", content: "Hello" });
});

test("a reference in a stored input is resolved again when the response is continued", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const client = server.client();
  const first = await client.responses.create({ model: "tiny", input: "One" });
  const id = first.output.at(-1)?.id ?? "";
  const input = [
    { type: "item_reference" as const, id },
    { role: "user" as const, content: "Two" },
  ];
  const second = await client.responses.create({ model: "tiny", input });
  await client.responses.create({ model: "tiny", input: "Three", previous_response_id: second.id });
  expect(messagesOf(server.requests[2]).map(({ content }) => content)).toEqual([
    "Hello",
    "Two",
    "Hello",
    "Three",
  ]);
});

test("an item of another key is as unknown as one that does not exist", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf(), keys: ["mine", "other"] });
  const first = await send(server, { input: [user("One")] }, "mine");
  const id = first.output?.[0]?.id ?? "";
  const input = (wanted: string) => ({ input: [{ type: "item_reference", id: wanted }, user("Two")] });
  const foreign = await send(server, input(id), "other");
  const unknown = await send(server, input("msg_unknown"), "other");
  expect(foreign).toMatchObject({ status: 404, error: { code: "item_not_found", param: "input" } });
  expect(unknown.error?.message.replace("msg_unknown", id)).toBe(foreign.error?.message);
  expect((await send(server, input(id), "mine")).status).toBe(200);
});

test("items of a response with store false cannot be referred to", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const first = await send(server, { input: [user("One")], store: false });
  const id = first.output?.[0]?.id ?? "";
  expect(await send(server, { input: [{ id }] })).toMatchObject({ status: 404 });
});

test("a short request cannot refer to one large item so often that it exhausts the memory", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const large = { id: "msg_large", role: "user", content: "x".repeat(2_000_000) };
  expect((await send(server, { input: [large] })).status).toBe(200);
  const input = Array.from({ length: 1000 }, () => ({ type: "item_reference", id: "msg_large" }));
  expect(await send(server, { input })).toMatchObject({ status: 400, error: { param: "input" } });
});
