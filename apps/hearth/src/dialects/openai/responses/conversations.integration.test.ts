import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { NotFoundError } from "openai";
import { expect, test } from "vitest";
import { messagesOf, startResponsesServer, storeOf } from "./test/start-responses-server.ts";

const stop = { do: "end", reason: "stop" } as const;
const script: FakeEngineScript = () => [{ do: "write", text: "Hello" }, stop];
const model = "tiny";
const user = (content: string) => ({ type: "message" as const, role: "user" as const, content });

test("a conversation is created empty or with items, updated and deleted", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { conversations } = server.client();
  const empty = await conversations.create();
  expect(empty).toMatchObject({ object: "conversation", metadata: {} });
  const { id } = await conversations.create({ items: [user("One")], metadata: { topic: "a" } });
  expect(await conversations.update(id, { metadata: { topic: "b" } })).toMatchObject({ id });
  expect(await conversations.retrieve(id)).toMatchObject({ id, metadata: { topic: "b" } });
  expect(await conversations.delete(id)).toEqual({ id, object: "conversation.deleted", deleted: true });
  await expect(conversations.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
});

test("items of a conversation are added, listed, read and deleted", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { conversations } = server.client();
  const { id } = await conversations.create({ items: [user("One")] });
  const added = await conversations.items.create(id, { items: [user("Two"), user("Three")] });
  expect(added).toMatchObject({ object: "list", has_more: false, first_id: added.data[0]?.id });
  const second = added.data[0]?.id ?? "";
  expect(await conversations.items.retrieve(second, { conversation_id: id })).toMatchObject({
    id: second,
    role: "user",
    content: [{ type: "input_text", text: "Two" }],
  });
  expect(await conversations.items.delete(second, { conversation_id: id })).toMatchObject({ id });
  const left = await Array.fromAsync(conversations.items.list(id, { order: "asc", limit: 1 }));
  expect(left).toMatchObject([{ content: [{ text: "One" }] }, { content: [{ text: "Three" }] }]);
  await expect(conversations.items.retrieve(second, { conversation_id: id })).rejects.toMatchObject({
    status: 404,
    code: "item_not_found",
  });
});

test("the items of a conversation come before the input, and each turn is appended to it", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { conversations, responses } = server.client();
  const { id } = await conversations.create({ items: [user("One")] });
  const first = await responses.create({ model, input: "Two", conversation: id });
  expect(first.conversation).toEqual({ id });
  await responses.create({ model, input: "Three", conversation: { id }, stream: true }).then(Array.fromAsync);
  expect(messagesOf(server.requests[1]).map(({ role, content }) => `${role}: ${content}`)).toEqual([
    "user: One",
    "user: Two",
    "assistant: Hello",
    "user: Three",
  ]);
  const items = await Array.fromAsync(conversations.items.list(id, { order: "asc" }));
  expect(items.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => "message"));
  expect(items[2]?.id).toBe(first.output[0]?.id);
});

test("with store false the conversation is read but not changed", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { conversations, responses } = server.client();
  const { id } = await conversations.create({ items: [user("One")] });
  await responses.create({ model, input: "Two", conversation: id, store: false });
  expect(messagesOf(server.requests[0])).toHaveLength(2);
  expect(await Array.fromAsync(conversations.items.list(id))).toHaveLength(1);
});

test("a conversation of another key, and one with previous_response_id, are rejected", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf(), keys: ["mine", "other"] });
  const mine = server.client("mine");
  const other = server.client("other");
  const { id } = await mine.conversations.create({ items: [user("One")] });
  const foreign = other.responses.create({ model, input: "Two", conversation: id });
  await expect(foreign).rejects.toMatchObject({ status: 404, param: "conversation" });
  await expect(other.conversations.retrieve(id)).rejects.toMatchObject({ status: 404 });
  await expect(other.conversations.delete(id)).rejects.toMatchObject({ status: 404 });
  await expect(other.conversations.items.create(id, { items: [user("x")] })).rejects.toMatchObject({
    status: 404,
  });
  const response = await mine.responses.create({ model, input: "One" });
  const both = { model, input: "Two", conversation: id, previous_response_id: response.id };
  await expect(mine.responses.create(both)).rejects.toMatchObject({
    status: 400,
    param: "previous_response_id",
  });
});

test("a server that stores nothing says so, and names the flag", async () => {
  await using server = await startResponsesServer({ script });
  const { conversations, responses } = server.client();
  const named = { message: expect.stringContaining("--max-stored-responses") };
  await expect(conversations.create()).rejects.toMatchObject(named);
  await expect(responses.create({ model, input: "x", conversation: "conv_1" })).rejects.toMatchObject(named);
});
