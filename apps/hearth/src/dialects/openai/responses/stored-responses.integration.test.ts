import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { messagesOf, startResponsesServer, storeOf } from "./test/start-responses-server.ts";

const stop = { do: "end", reason: "stop" } as const;
const hello: FakeEngineScript = () => [{ do: "write", text: "Hello" }, stop];
const model = "tiny";

test("a response whose predecessor was evicted cannot be continued, and the error says what to do", async () => {
  await using server = await startResponsesServer({
    script: hello,
    responses: storeOf({ maxResponses: 2 }),
  });
  const { responses } = server.client();
  const first = await responses.create({ model, input: "One" });
  const second = await responses.create({ model, input: "Two", previous_response_id: first.id });
  const third = await responses.create({ model, input: "Three", previous_response_id: second.id });
  const next = { model, input: "Four", previous_response_id: third.id };
  await expect(responses.create(next)).rejects.toMatchObject({
    status: 400,
    code: "previous_response_not_found",
    param: "previous_response_id",
    message: expect.stringContaining("send the complete input"),
  });
  expect(server.requests).toHaveLength(3);
});

test("each turn stores its own items only, so a long conversation does not grow with its square", async () => {
  const responses = storeOf();
  await using server = await startResponsesServer({ script: hello, responses });
  const client = server.client();
  const sizes: number[] = [];
  const ids: string[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const input = `${turn} ${"word ".repeat(200)}`;
    const previous_response_id = ids.at(-1) ?? null;
    const { id } = await client.responses.create({ model, input, previous_response_id });
    sizes.push(responses.bytes);
    ids.push(id);
  }
  const added = sizes.map((size, index) => size - (sizes[index - 1] ?? 0));
  expect(Math.max(...added) - Math.min(...added)).toBeLessThan(100);
  expect(messagesOf(server.requests.at(-1))).toHaveLength(11);
});

test("with store false nothing is stored", async () => {
  const responses = storeOf();
  await using server = await startResponsesServer({ script: hello, responses });
  const response = await server.client().responses.create({ model, input: "One", store: false });
  expect(response).toHaveProperty("store", false);
  expect(responses.bytes).toBe(0);
});

const keys = ["k0", "k1", "k2", "k3", "k4"];
const conversations = Array.from({ length: 3 }, (_, index) => index);
const turns = Array.from({ length: 4 }, (_, index) => index);

test("conversations of several keys at the same time arrive complete and cannot be continued by another key", async () => {
  await using server = await startResponsesServer({ script: hello, responses: storeOf(), keys });
  const last = new Map<string, string>();
  const say = async (key: string, conversation: number, turn: number): Promise<void> => {
    const place = `${key}/${conversation}`;
    const response = await fetch(`${server.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model,
        input: `${place}/${turn}`,
        previous_response_id: last.get(place) ?? null,
      }),
    });
    // The status is checked, and a response has an id.
    const { id } = (await response.json()) as { id: string };
    expect(response.status).toBe(200);
    last.set(place, id);
  };
  for (const turn of turns) {
    for (const conversation of conversations) {
      await Promise.all(keys.map((key) => say(key, conversation, turn)));
    }
  }
  // Every conversation arrives complete, and contains its own messages only.
  const complete = new Set(
    server.requests.flatMap((request) => {
      const messages = messagesOf(request);
      const asked = messages.flatMap(({ role, content }) => (role === "user" ? [content ?? ""] : []));
      const [first = ""] = asked;
      const place = first.slice(0, first.lastIndexOf("/"));
      expect(asked).toEqual(asked.map((_, turn) => `${place}/${turn}`));
      return asked.length === turns.length ? [place] : [];
    }),
  );
  expect(complete.size).toBe(keys.length * conversations.length);
  for (const [place, id] of last) {
    const other = keys.find((key) => !place.startsWith(`${key}/`)) ?? "";
    await expect(
      server.client(other).responses.create({ model, input: "x", previous_response_id: id }),
    ).rejects.toMatchObject({ status: 400, code: "previous_response_not_found" });
  }
});
