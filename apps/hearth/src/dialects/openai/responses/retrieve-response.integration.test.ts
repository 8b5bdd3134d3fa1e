import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { NotFoundError } from "openai";
import { expect, test } from "vitest";
import { startResponsesServer, storeOf } from "./test/start-responses-server.ts";

const stop = { do: "end", reason: "stop" } as const;
const script: FakeEngineScript = () => [{ do: "write", text: "Hello" }, stop];
const model = "tiny";

test("a stored response is retrieved as it was sent, until it is deleted", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { responses } = server.client();
  const created = await responses.create({ model, input: "One", metadata: { topic: "greeting" } });
  expect(await responses.retrieve(created.id)).toEqual(created);
  const deleted = await fetch(`${server.url}/v1/responses/${created.id}`, { method: "DELETE" });
  expect(await deleted.json()).toEqual({ id: created.id, object: "response", deleted: true });
  await expect(responses.retrieve(created.id)).rejects.toBeInstanceOf(NotFoundError);
  await expect(responses.delete(created.id)).rejects.toBeInstanceOf(NotFoundError);
  const next = responses.create({ model, input: "Two", previous_response_id: created.id });
  await expect(next).rejects.toMatchObject({ code: "previous_response_not_found" });
});

test("a streamed response is retrieved as its last event described it", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { responses } = server.client();
  const streamed = await responses.stream({ model, input: "One" }).finalResponse();
  const { output_text: text, output } = await responses.retrieve(streamed.id);
  expect(text).toBe("Hello");
  expect(output[0]?.id).toBe(streamed.output[0]?.id);
});

test("a response of another key cannot be read, listed, cancelled or deleted", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf(), keys: ["mine", "other"] });
  const mine = server.client("mine").responses;
  const other = server.client("other").responses;
  const { id } = await mine.create({ model, input: "One" });
  const attempts = [
    () => other.retrieve(id),
    () => other.delete(id),
    () => other.cancel(id),
    async () => other.inputItems.list(id),
  ];
  for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ status: 404 });
  expect((await mine.retrieve(id)).id).toBe(id);
});

test("a replay of events and the cancellation of a complete response are rejected with the reason", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { responses } = server.client();
  const { id } = await responses.create({ model, input: "One" });
  await expect(responses.retrieve(id, { stream: true })).rejects.toMatchObject({
    status: 400,
    param: "stream",
  });
  await expect(responses.cancel(id)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("background"),
  });
});

test("input items are listed by page in both orders, each with an id", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { responses } = server.client();
  const input = ["a", "b", "c", "d", "e"].map((content) => ({ role: "user" as const, content }));
  const { id } = await responses.create({ model, input });
  const texts = async (query: object) => {
    const page = await responses.inputItems.list(id, { limit: 2, ...query });
    const found = page.data.map((item) => JSON.stringify(item).replace(/.*"text":"(.)".*/u, "$1"));
    return { found, last: page.data.at(-1)?.id ?? "", hasMore: page.has_more };
  };
  const first = await texts({ order: "asc" });
  expect(first).toMatchObject({ found: ["a", "b"], hasMore: true });
  const second = await texts({ order: "asc", after: first.last });
  expect(second).toMatchObject({ found: ["c", "d"], hasMore: true });
  expect(await texts({ order: "asc", after: second.last })).toMatchObject({ found: ["e"], hasMore: false });
  expect(await texts({})).toMatchObject({ found: ["e", "d"], hasMore: true });
  const all = await Array.fromAsync(responses.inputItems.list(id, { limit: 2 }));
  expect(new Set(all.map((item) => item.id)).size).toBe(5);
  await expect(texts({ after: "msg_unknown" })).rejects.toMatchObject({ status: 400, param: "after" });
  await expect(texts({ limit: 101 })).rejects.toMatchObject({ status: 400 });
});

test("input tokens count the whole prompt, with instructions and the response that is continued", async () => {
  await using server = await startResponsesServer({ script, responses: storeOf() });
  const { responses } = server.client();
  const count = async (body: object) => responses.inputTokens.count({ model, ...body });
  const alone = await count({ input: "One two" });
  expect(alone).toEqual({ object: "response.input_tokens", input_tokens: 3 });
  expect((await count({ input: "One two", instructions: "Be kind" })).input_tokens).toBe(6);
  const { id } = await responses.create({ model, input: "One two" });
  expect((await count({ input: "Three", previous_response_id: id })).input_tokens).toBe(7);
  expect(server.requests).toHaveLength(1);
  await expect(responses.inputTokens.count({ input: "One" })).rejects.toMatchObject({ status: 400 });
});
