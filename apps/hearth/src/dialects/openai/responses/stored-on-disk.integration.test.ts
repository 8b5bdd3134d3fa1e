import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openResponseStore } from "./open-response-store.ts";
import type { ResponseStore } from "./response-store.ts";
import { messagesOf, startResponsesServer } from "./test/start-responses-server.ts";

const script: FakeEngineScript = () => [
  { do: "write", text: "Hello" },
  { do: "end", reason: "stop" },
];
const model = "tiny";
const mebibyte = 1024 * 1024;

function openStore(path: string): Promise<ResponseStore> {
  const limits = { maxResponses: 64, maxBytes: mebibyte, maxTotalBytes: mebibyte, idleSeconds: 3600 };
  const folder = join(path, "responses");
  return openResponseStore(limits, { folder, keyFile: join(path, "key"), onSkip: () => undefined });
}

test("responses, items and conversations go on in the next process, and deleted ones stay deleted", async () => {
  await using temporary = await makeTemporaryFolder("stored-on-disk");
  await using before = await startResponsesServer({ script, responses: await openStore(temporary.path) });
  const { conversations, responses } = before.client();
  const first = await responses.create({ model, input: "One" });
  const deleted = await responses.create({ model, input: "Gone" });
  await responses.delete(deleted.id);
  const conversation = await conversations.create({ metadata: { topic: "a" } });
  const added = await conversations.items.create(conversation.id, {
    items: [
      { type: "message", role: "user", content: "Two" },
      { type: "message", role: "user", content: "Three" },
    ],
  });
  await conversations.update(conversation.id, { metadata: { topic: "b" } });
  await conversations.items.delete(added.data[0]?.id ?? "", { conversation_id: conversation.id });

  await using after = await startResponsesServer({ script, responses: await openStore(temporary.path) });
  const next = after.client();
  await next.responses.create({ model, input: "Four", previous_response_id: first.id });
  expect(messagesOf(after.requests[0]).map(({ content }) => content)).toEqual(["One", "Hello", "Four"]);
  expect(await next.conversations.retrieve(conversation.id)).toMatchObject({ metadata: { topic: "b" } });
  await next.responses.create({ model, input: "Five", conversation: conversation.id });
  expect(messagesOf(after.requests[1]).map(({ content }) => content)).toEqual(["Three", "Five"]);
  await expect(next.responses.retrieve(deleted.id)).rejects.toMatchObject({ status: 404 });
});

test("a response that cannot be written fails with the reason, and one with store false does not", async () => {
  await using temporary = await makeTemporaryFolder("stored-on-disk");
  await using server = await startResponsesServer({ script, responses: await openStore(temporary.path) });
  const folder = join(temporary.path, "responses");
  await rm(folder, { recursive: true });
  await writeFile(folder, "in the way");
  const { responses, conversations } = server.client();
  const failure = { status: 507, code: "response_not_stored" };
  await expect(responses.create({ model, input: "One" })).rejects.toMatchObject(failure);
  await expect(conversations.create()).rejects.toMatchObject(failure);
  const stream = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({ model, input: "One", stream: true }),
  });
  const text = await stream.text();
  expect(text).toMatch(/event: response\.failed\ndata: .*"code":"response_not_stored"/u);
  expect(text).not.toContain("response.completed");
  expect(await responses.create({ model, input: "One", store: false })).toMatchObject({
    status: "completed",
  });
  await rm(folder);
  expect(await responses.create({ model, input: "Two" })).toMatchObject({ status: "completed" });
});
