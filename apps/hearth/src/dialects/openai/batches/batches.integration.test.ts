import { recordFigure } from "@hearth-and-keep/figures";
import OpenAI, { BadRequestError, NotFoundError, toFile } from "openai";
import { expect, test } from "vitest";
import { echo, startEchoingServer, textOf } from "../../../batches/test/echoing-server.ts";
import type { TestServer } from "../../../test/start-test-server.ts";

type Endpoint = OpenAI.BatchCreateParams["endpoint"];
type Line = {
  readonly custom_id: string | null;
  readonly response: {
    readonly status_code: number;
    readonly body: Readonly<Record<string, unknown>>;
  } | null;
  readonly error: object | null;
};

function connect({ url }: TestServer, key = "first"): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
}

function lineFor(text: string, index: number): string {
  const body = { model: "tiny", messages: [{ role: "user", content: text }] };
  return JSON.stringify({ custom_id: `request-${index}`, method: "POST", url: "/v1/chat/completions", body });
}

async function createBatch(
  client: OpenAI,
  lines: readonly string[],
  endpoint: Endpoint = "/v1/chat/completions",
): Promise<OpenAI.Batch> {
  const file = await toFile(Buffer.from(lines.join("\n")), "requests.jsonl");
  const { id } = await client.files.create({ file, purpose: "batch" });
  return client.batches.create({ input_file_id: id, endpoint, completion_window: "24h" });
}

async function waitFor(client: OpenAI, id: string, status: OpenAI.Batch["status"]): Promise<OpenAI.Batch> {
  await expect.poll(async () => (await client.batches.retrieve(id)).status).toBe(status);
  return client.batches.retrieve(id);
}

async function readLines(client: OpenAI, fileId: string | undefined): Promise<readonly Line[]> {
  const content = await client.files.content(fileId ?? "none");
  return (await content.text())
    .trim()
    .split("\n")
    .map((line): Line => JSON.parse(line));
}

/** Ids and times differ between two answers to the same request. */
function comparable(body: object): object {
  return JSON.parse(
    JSON.stringify(body, (name, value: unknown) =>
      ["id", "created", "created_at", "completed_at"].includes(name) ? undefined : value,
    ),
  );
}

test("a batch of chat completions runs from upload to results, which equal the answers sent directly", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const texts = ["One", "Two", "Three", "Four"];
  const created = await createBatch(client, texts.map(lineFor));
  expect(created).toMatchObject({
    object: "batch",
    status: "validating",
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    request_counts: { total: 0, completed: 0, failed: 0 },
  });
  const ended = await waitFor(client, created.id, "completed");
  expect(ended.request_counts).toEqual({ total: 4, completed: 4, failed: 0 });
  const { created_at, in_progress_at, finalizing_at, completed_at, error_file_id } = ended;
  expect([in_progress_at, finalizing_at, completed_at].every((time) => Number(time) >= created_at)).toBe(
    true,
  );
  expect(error_file_id).toBeUndefined();
  const results = await readLines(client, ended.output_file_id);
  const direct = await Promise.all(
    texts.map((content) =>
      client.chat.completions.create({ model: "tiny", messages: [{ role: "user", content }] }),
    ),
  );
  expect(
    results.map(({ custom_id, response }) => [
      custom_id,
      response?.status_code,
      comparable(response?.body ?? {}),
    ]),
  ).toEqual(direct.map((answer, index) => [`request-${index}`, 200, comparable(answer)]));
});

test.for([
  ["/v1/completions", { prompt: "Hi" }],
  ["/v1/embeddings", { input: "Hi" }],
  ["/v1/responses", { input: "Hi" }],
] as const)("a batch for %s has the answers of that endpoint", async ([endpoint, request]) => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const body = { model: "tiny", ...request };
  const line = JSON.stringify({ custom_id: "only", method: "POST", url: endpoint, body });
  const { id } = await createBatch(client, [line], endpoint);
  const { output_file_id } = await waitFor(client, id, "completed");
  const [result] = await readLines(client, output_file_id);
  const direct = await client.post<object>(endpoint.replace("/v1", ""), { body });
  expect(comparable(result?.response?.body ?? {})).toEqual(comparable(direct));
});

test("a damaged line is one failed request, and the others run", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const good = JSON.parse(lineFor("Hi", 0));
  const lines = [
    lineFor("Hi", 0),
    "",
    '{"custom_id": "cut off',
    JSON.stringify({ ...good, custom_id: "url", url: "/v1/embeddings" }),
    JSON.stringify({ ...good, custom_id: "method", method: "GET" }),
    JSON.stringify({ ...good, custom_id: "no body", body: 1 }),
    JSON.stringify({ ...good, custom_id: "x".repeat(129) }),
    JSON.stringify({ ...good, custom_id: "model", body: { ...good.body, model: "missing" } }),
    JSON.stringify({ ...good, custom_id: "stream", body: { ...good.body, stream: true } }),
    lineFor("Last", 9),
  ];
  const { id } = await createBatch(client, lines);
  const ended = await waitFor(client, id, "completed");
  expect(ended.request_counts).toEqual({ total: 9, completed: 2, failed: 7 });
  const succeeded = await readLines(client, ended.output_file_id);
  expect(succeeded.map(({ custom_id }) => custom_id)).toEqual(["request-0", "request-9"]);
  const failed = await readLines(client, ended.error_file_id);
  const described = failed.map(
    ({ custom_id, response }) =>
      `${custom_id}, ${response?.status_code}: ${Object(response?.body["error"]).message}`,
  );
  expect(described).toEqual([
    'null, 400: Invalid request: "line 3" is not a JSON object',
    'url, 400: Invalid request: "url" of line 4 must be "/v1/chat/completions", the endpoint of the batch',
    'method, 400: Invalid request: "method" of line 5 must be "POST"',
    'no body, 400: Invalid request: "body" of line 6 must be an object',
    'null, 400: Invalid request: "custom_id" of line 7 must be a text of 1 to 128 characters',
    'model, 404: Model "missing" not found; GET /v1/models lists the available models',
    'stream, 400: Invalid request: "stream" must be false in a batch',
  ]);
});

test.for([
  ["empty", "\n\n", "empty_file", null],
  [
    "too long",
    `${lineFor("Hi", 0)}\n`.repeat(1001).replaceAll(/request-0/gu, () => crypto.randomUUID()),
    "too_many_requests",
    null,
  ],
  ["ambiguous", `${lineFor("Hi", 0)}\n${lineFor("Hi", 0)}`, "duplicate_custom_id", 2],
] as const)("a file that is %s fails as a whole, with the reason", async ([, text, code, line]) => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const { id } = await createBatch(client, [text]);
  const failed = await waitFor(client, id, "failed");
  expect(failed.errors?.data).toMatchObject([{ code, line }]);
  expect(failed.failed_at).toBeGreaterThan(0);
  expect(server.requests).toEqual([]);
});

test("no other key can see or use a file or a batch, and its own key can", async () => {
  await using server = await startEchoingServer();
  const [own, other] = [connect(server), connect(server, "second")];
  const { id, input_file_id } = await createBatch(own, [lineFor("Mine", 0)]);
  const { output_file_id } = await waitFor(own, id, "completed");
  const fileIds = [input_file_id, String(output_file_id)];
  const calls = (client: OpenAI): (() => Promise<unknown>)[] => [
    async () => client.batches.retrieve(id),
    async () => client.batches.cancel(id),
    async () =>
      client.batches.create({ input_file_id, endpoint: "/v1/embeddings", completion_window: "24h" }),
    ...fileIds.flatMap((file) => [
      async () => client.files.retrieve(file),
      async () => client.files.content(file),
      async () => client.files.delete(file),
    ]),
  ];
  const outcomes: unknown[] = [];
  for (const call of calls(other)) outcomes.push(await call().catch((error: unknown) => error));
  const notFound = outcomes.filter((outcome) => outcome instanceof NotFoundError);
  expect(notFound).toHaveLength(outcomes.length);
  expect([(await other.batches.list()).data, (await other.files.list()).data]).toEqual([[], []]);
  expect((await own.batches.list()).data.map((batch) => batch.id)).toEqual([id]);
  expect((await own.files.list()).data.map((file) => file.id)).toEqual(fileIds.toReversed());
  recordFigure({
    claim: "agents 5",
    text: `${notFound.length} of ${outcomes.length} calls of another key for files and a batch are answered as if they did not exist`,
    counted: { reached: notFound.length, needed: outcomes.length },
  });
});

test("a cancelled batch stops the running requests; the others are in the error file", async () => {
  await using server = await startEchoingServer({ script: echo(60_000) });
  const client = connect(server);
  const { id } = await createBatch(client, ["One", "Two", "Three"].map(lineFor));
  await expect.poll(() => server.requests.length).toBe(1);
  expect((await client.batches.cancel(id)).status).toBe("cancelling");
  const cancelled = await waitFor(client, id, "cancelled");
  expect(cancelled.request_counts).toEqual({ total: 3, completed: 0, failed: 0 });
  const lines = await readLines(client, cancelled.error_file_id);
  expect(lines.map(({ custom_id, error }) => [custom_id, Object(error).code])).toEqual([
    ["request-0", "batch_cancelled"],
    ["request-1", "batch_cancelled"],
    ["request-2", "batch_cancelled"],
  ]);
  await expect(client.batches.cancel(id)).rejects.toThrow('a batch with the status "cancelled"');
});

test("a client's request beside a batch of 100 is served before the rest of the batch", async () => {
  await using server = await startEchoingServer({ script: echo(20), limits: { sequences: 1 } });
  const client = connect(server);
  const texts = Array.from({ length: 100 }, (_, index) => `Batch ${index}`);
  const { id } = await createBatch(client, texts.map(lineFor));
  await expect.poll(() => server.requests.length).toBeGreaterThan(2);
  await client.chat.completions.create({ model: "tiny", messages: [{ role: "user", content: "Client" }] });
  const before = server.requests.findIndex((request) => textOf(request) === "Client");
  await client.batches.cancel(id);
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(50);
});

test("batches end at the limits of their key, with the reason, and old ones make room for new ones", async () => {
  await using server = await startEchoingServer({ script: echo(60_000), batchLimits: { maxBatches: 2 } });
  const client = connect(server);
  const ids: string[] = [];
  for (const text of ["One", "Two"]) ids.push((await createBatch(client, [lineFor(text, 0)])).id);
  await expect(createBatch(client, [lineFor("Three", 0)])).rejects.toThrow("this API key has 2 batches");
  for (const id of ids) await client.batches.cancel(id);
  for (const id of ids) await waitFor(client, id, "cancelled");
  const { id } = await createBatch(client, [lineFor("Four", 0)]);
  expect((await client.batches.list()).data.map((batch) => batch.id)).toEqual([id, ids[1]]);
});

test("a batch whose requests do not fit into the memory of its key fails with the reason", async () => {
  await using server = await startEchoingServer({ batchLimits: { maxBytes: 30_000 } });
  const client = connect(server);
  const large = await createBatch(client, [lineFor("x".repeat(20_000), 0)]);
  const failed = await waitFor(client, large.id, "failed");
  expect(failed.errors?.data?.[0]).toMatchObject({ code: "storage_limit_exceeded" });
  await client.files.delete(large.input_file_id);
  const small = await createBatch(client, [lineFor("Hi", 0)]);
  await waitFor(client, small.id, "completed");
});

test.for([
  ["an endpoint that is not served", { endpoint: "/v1/moderations" }],
  ["another time", { completion_window: "1h" }],
  ["a file for another purpose", { purpose: "user_data" }],
] as const)("a batch with %s is rejected, and the same without it is accepted", async ([, changed]) => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const { purpose = "batch", ...fields } = { purpose: undefined, ...changed };
  const upload = async (as: "batch" | "user_data") => {
    const file = await toFile(Buffer.from(lineFor("Hi", 0)), "requests.jsonl");
    return (await client.files.create({ file, purpose: as })).id;
  };
  const valid = { endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  const rejected = { ...valid, input_file_id: await upload(purpose), ...fields };
  await expect(client.post("/batches", { body: rejected })).rejects.toThrow(BadRequestError);
  const { status } = await client.batches.create({ ...valid, input_file_id: await upload("batch") });
  expect(status).toBe("validating");
});

test("metadata and the lifetime of the output file are kept", async () => {
  await using server = await startEchoingServer();
  const client = connect(server);
  const file = await toFile(Buffer.from(lineFor("Hi", 0)), "requests.jsonl");
  const { id: input_file_id } = await client.files.create({ file, purpose: "batch" });
  const { id } = await client.batches.create({
    input_file_id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    metadata: { topic: "greetings" },
    output_expires_after: { anchor: "created_at", seconds: 7200 },
  });
  const { metadata, output_file_id } = await waitFor(client, id, "completed");
  expect(metadata).toEqual({ topic: "greetings" });
  const output = await client.files.retrieve(String(output_file_id));
  expect(output).toMatchObject({ purpose: "batch_output", expires_at: output.created_at + 7200 });
});
