import Anthropic, { BadRequestError, NotFoundError, RateLimitError } from "@anthropic-ai/sdk";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { echo, startEchoingServer, textOf } from "../../../batches/test/echoing-server.ts";
import type { TestServer } from "../../../test/start-test-server.ts";

type NewRequest = Anthropic.Messages.BatchCreateParams.Request;
type Result = Anthropic.Messages.MessageBatchIndividualResponse;

function connect({ url }: TestServer, key = "first"): Anthropic {
  return new Anthropic({ baseURL: `${url}/alt`, apiKey: key, maxRetries: 0 });
}

function paramsFor(content: string): NewRequest["params"] {
  return { model: "tiny", max_tokens: 64, messages: [{ role: "user", content }] };
}

function requestsFor(texts: readonly string[]): NewRequest[] {
  return texts.map((text, index) => ({ custom_id: `request-${index}`, params: paramsFor(text) }));
}

async function waitForEnd({ messages }: Anthropic, id: string): Promise<Anthropic.Messages.MessageBatch> {
  await expect.poll(async () => (await messages.batches.retrieve(id)).processing_status).toBe("ended");
  return messages.batches.retrieve(id);
}

async function readResults({ messages }: Anthropic, id: string): Promise<readonly Result[]> {
  return Array.fromAsync(await messages.batches.results(id));
}

function withoutId(message: object): object {
  return { ...message, id: "" };
}

test("a batch runs from creation to results, which equal the answers of the same requests sent directly", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const texts = ["One", "Two", "Three", "Four"];
  const created = await client.messages.batches.create({ requests: requestsFor(texts) });
  expect(created).toMatchObject({
    type: "message_batch",
    processing_status: "in_progress",
    request_counts: { processing: 4, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    ended_at: null,
    cancel_initiated_at: null,
    archived_at: null,
    results_url: null,
  });
  const ended = await waitForEnd(client, created.id);
  expect(ended.request_counts).toEqual({ processing: 0, succeeded: 4, errored: 0, canceled: 0, expired: 0 });
  const results = await readResults(client, created.id);
  const direct = await Promise.all(texts.map((text) => client.messages.create(paramsFor(text))));
  expect(
    results.map(({ custom_id, result }) => [custom_id, result.type, withoutId(Object(result).message)]),
  ).toEqual(direct.map((message, index) => [`request-${index}`, "succeeded", withoutId(message)]));
});

test("an invalid request is one result with the error that its endpoint answers, and the others run", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const damaged = [
    { ...paramsFor("Hi"), model: "missing" },
    { ...paramsFor("Hi"), max_tokens: -1 },
    { ...paramsFor("Hi"), stream: true },
  ];
  const requests: NewRequest[] = [
    ...requestsFor(["Hello"]),
    ...damaged.map((params, index) => ({
      custom_id: `damaged-${index}`,
      // The types do not allow to stream.
      params: params as NewRequest["params"],
    })),
  ];
  const { id } = await client.messages.batches.create({ requests });
  expect((await waitForEnd(client, id)).request_counts).toMatchObject({ succeeded: 1, errored: 3 });
  const [first, ...failed] = await readResults(client, id);
  expect(first?.result.type).toBe("succeeded");
  expect(failed.map(({ result }) => Object(result).error.error)).toEqual([
    { type: "not_found_error", message: "model: missing" },
    { type: "invalid_request_error", message: expect.stringContaining("max_tokens") },
    { type: "invalid_request_error", message: "stream: must be false in a batch" },
  ]);
});

test("a field without effect is named in the line of its request", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const params = { ...paramsFor("Hi"), metadata: { user_id: "me" } };
  const { id } = await client.messages.batches.create({ requests: [{ custom_id: "a", params }] });
  await waitForEnd(client, id);
  const [result] = await readResults(client, id);
  expect(Object(result).hearth_ignored).toBe('fields=("metadata")');
});

test("no other key can see, read, cancel or delete a batch, and its own key can", async () => {
  await using server = await startEchoingServer();
  const [own, other] = [connect(server), connect(server, "second")];
  const { id } = await own.messages.batches.create({ requests: requestsFor(["Mine"]) });
  await waitForEnd(own, id);
  const calls = (client: Anthropic) => [
    () => client.messages.batches.retrieve(id),
    () => client.get(`/v1/messages/batches/${id}/results`),
    () => client.messages.batches.cancel(id),
    () => client.messages.batches.delete(id),
  ];
  const outcomes: unknown[] = [];
  for (const call of calls(other)) outcomes.push(await call().catch((error: unknown) => error));
  expect(outcomes.filter((outcome) => outcome instanceof NotFoundError)).toHaveLength(4);
  expect((await other.messages.batches.list()).data).toEqual([]);
  expect((await own.messages.batches.list()).data.map((batch) => batch.id)).toEqual([id]);
  await expect(own.messages.batches.cancel(id)).rejects.toThrow("has ended already");
  expect(await own.messages.batches.delete(id)).toEqual({ id, type: "message_batch_deleted" });
  await expect(own.messages.batches.retrieve(id)).rejects.toThrow(NotFoundError);
  recordFigure({
    claim: "agents 5",
    text: `${outcomes.length} of ${calls(other).length} calls of another key for a batch are answered as if it did not exist`,
    counted: { reached: outcomes.length, needed: calls(other).length },
  });
});

test("a canceled batch stops the running requests and starts no others; it can be deleted then", async () => {
  await using server = await startEchoingServer({ script: echo(60_000) });
  const client = connect(server);
  const { id } = await client.messages.batches.create({ requests: requestsFor(["One", "Two", "Three"]) });
  await expect.poll(() => server.requests.length).toBe(1);
  await expect(client.messages.batches.delete(id)).rejects.toThrow("cancel it first");
  await expect(client.get(`/v1/messages/batches/${id}/results`)).rejects.toThrow(BadRequestError);
  const canceled = await client.messages.batches.cancel(id);
  expect(canceled.cancel_initiated_at).not.toBeNull();
  const ended = await waitForEnd(client, id);
  expect(ended.request_counts).toMatchObject({ processing: 0, succeeded: 0, canceled: 3 });
  expect(server.requests).toHaveLength(1);
  expect((await readResults(client, id)).map(({ result }) => result)).toEqual([
    { type: "canceled" },
    { type: "canceled" },
    { type: "canceled" },
  ]);
  await client.messages.batches.delete(id);
});

test("a client's request beside a batch of 100 is served before the rest of the batch", async () => {
  // All of them wait for the model, far more than by default.
  const batchLimits = { maxRunning: 100 };
  await using server = await startEchoingServer({ script: echo(20), limits: { sequences: 1 }, batchLimits });
  const client = connect(server);
  const texts = Array.from({ length: 100 }, (_, index) => `Batch ${index}`);
  const { id } = await client.messages.batches.create({ requests: requestsFor(texts) });
  await expect.poll(() => server.requests.length).toBeGreaterThan(2);
  await client.messages.create(paramsFor("Client"));
  const before = server.requests.findIndex((request) => textOf(request) === "Client");
  await client.messages.batches.cancel(id);
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(50);
  recordFigure({
    claim: "agents 5",
    text: `a client's request beside a batch of 100 on one slot came after ${before} of its requests`,
    counted: { reached: texts.length - before, needed: texts.length / 2 },
  });
});

test("two keys take turns, whatever the size of their batches", async () => {
  await using server = await startEchoingServer({ script: echo(5), batchLimits: { maxRunning: 1 } });
  const [first, second] = [connect(server), connect(server, "second")];
  const large = Array.from({ length: 30 }, () => "First");
  await first.messages.batches.create({ requests: requestsFor(large) });
  const { id } = await second.messages.batches.create({ requests: requestsFor(["Second", "Second"]) });
  await waitForEnd(second, id);
  const last = server.requests.findLastIndex((request) => textOf(request) === "Second");
  expect(last).toBeLessThan(20);
});

test("the number and the bytes of a key's batches are bounded, with the reason, and do not limit other keys", async () => {
  await using server = await startEchoingServer({ batchLimits: { maxBatches: 2, maxBytes: 20_000 } });
  const [first, second] = [connect(server), connect(server, "second")];
  const requests = requestsFor(["Hi"]);
  for (const client of [first, first, second]) {
    const { id } = await client.messages.batches.create({ requests });
    await waitForEnd(client, id);
  }
  const full = await first.messages.batches.create({ requests }).catch((error: unknown) => error);
  expect(full).toBeInstanceOf(RateLimitError);
  expect(String(full)).toContain("this API key has 2 batches");
  const [oldest] = (await first.messages.batches.list()).data;
  await first.messages.batches.delete(oldest?.id ?? "");
  const large = requestsFor(["x".repeat(20_000)]);
  await expect(first.messages.batches.create({ requests: large })).rejects.toThrow("may store 20000 bytes");
  await first.messages.batches.create({ requests });
});

/** A long answer on demand. */
const longOnDemand: FakeEngineScript = (request) => [
  { do: "write", text: textOf(request) === "Long" ? "x".repeat(50_000) : "short" },
  { do: "end", reason: "stop" },
];

test("a result that exceeds the memory of its key is an error, and the others are kept", async () => {
  await using server = await startEchoingServer({ script: longOnDemand, batchLimits: { maxBytes: 20_000 } });
  const client = connect(server);
  const { id } = await client.messages.batches.create({ requests: requestsFor(["Hi", "Long", "Hi"]) });
  await waitForEnd(client, id);
  const results = (await readResults(client, id)).map(({ result }) => result);
  expect(results.map(({ type }) => type)).toEqual(["succeeded", "errored", "succeeded"]);
  expect(JSON.stringify(results[1])).toContain("there is no memory for this result");
});

test.for([
  ["no requests", []],
  ["too many requests", requestsFor(Array.from({ length: 1001 }, () => "Hi"))],
  ["the same id twice", [...requestsFor(["Hi"]), ...requestsFor(["Hi"])]],
  ["an id that is too long", [{ custom_id: "x".repeat(65), params: paramsFor("Hi") }]],
  ["an id with other characters", [{ custom_id: "a b", params: paramsFor("Hi") }]],
] as const)("a batch with %s is rejected as a whole", async ([, requests]) => {
  await using server = await startEchoingServer();
  const creating = connect(server).messages.batches.create({ requests: [...requests] });
  await expect(creating).rejects.toThrow(BadRequestError);
});

test("a batch whose time is over ends: its waiting requests have expired, and later it is deleted", async () => {
  const batchLimits = { processingSeconds: 0.2, retentionSeconds: 1 };
  await using server = await startEchoingServer({ script: echo(60_000), batchLimits });
  const client = connect(server);
  const { id } = await client.messages.batches.create({ requests: requestsFor(["One", "Two"]) });
  const ended = await waitForEnd(client, id);
  expect(ended.request_counts).toMatchObject({ expired: 2, canceled: 0 });
  await expect.poll(async () => (await client.messages.batches.list()).data).toEqual([]);
});

test("batches are listed by page, the newest first", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const ids: string[] = [];
  for (const text of ["One", "Two", "Three"]) {
    ids.unshift((await client.messages.batches.create({ requests: requestsFor([text]) })).id);
  }
  const listed = await Array.fromAsync(client.messages.batches.list({ limit: 2 }));
  expect(listed.map(({ id }) => id)).toEqual(ids);
});

test("every request of a batch has a log record of its own, without its text", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const { id } = await client.messages.batches.create({ requests: requestsFor(["canary-71", "canary-72"]) });
  await waitForEnd(client, id);
  const records = server.logRecords().filter(({ route }) => route === "POST /v1/messages");
  expect(records).toHaveLength(2);
  expect(records[0]).toMatchObject({ status: 200, keyName: "first" });
  expect(JSON.stringify(server.logRecords())).not.toContain("canary");
});
