import OpenAI, { BadRequestError, NotFoundError, RateLimitError, toFile } from "openai";
import { expect, test } from "vitest";
import { startTestServer, type TestServer, type TestServerOptions } from "../../../test/start-test-server.ts";

function startServer(options: Partial<TestServerOptions> = {}): Promise<TestServer> {
  return startTestServer({ models: {}, script: () => [], ...options });
}

function connect({ url }: TestServer): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
}

function namedFile(content: string | Uint8Array<ArrayBuffer>, name = "notes.txt") {
  return toFile(typeof content === "string" ? Buffer.from(content) : content, name);
}

test("a file is uploaded, described, downloaded byte for byte and deleted", async () => {
  await using server = await startServer();
  const client = connect(server);
  const content = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);
  const created = await client.files.create({
    file: await namedFile(content, "\u00e9.bin"),
    purpose: "user_data",
  });
  expect(created).toMatchObject({
    object: "file",
    bytes: 1000,
    filename: "\u00e9.bin",
    purpose: "user_data",
    status: "processed",
    expires_at: created.created_at + 86_400,
  });
  expect(await client.files.retrieve(created.id)).toEqual(created);
  const response = await client.files.content(created.id);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "x-content-type-options": "nosniff",
  });
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(content);
  expect(await client.files.delete(created.id)).toEqual({ id: created.id, object: "file", deleted: true });
  await expect(client.files.retrieve(created.id)).rejects.toThrow(NotFoundError);
});

test("files are listed by page, order and purpose", async () => {
  await using server = await startServer();
  const client = connect(server);
  const ids: string[] = [];
  for (const purpose of ["batch", "user_data", "batch"] as const) {
    ids.push((await client.files.create({ file: await namedFile("{}"), purpose })).id);
  }
  const list = async (query: OpenAI.FileListParams) =>
    (await Array.fromAsync(client.files.list(query))).map(({ id }) => id);
  expect(await list({})).toEqual(ids.toReversed());
  expect(await list({ order: "asc", limit: 2 })).toEqual(ids);
  expect(await list({ purpose: "user_data" })).toEqual([ids[1]]);
});

test("a client sets how long its file is kept", async () => {
  await using server = await startServer();
  const client = connect(server);
  const file = await namedFile("{}");
  const upload = (seconds: number) =>
    client.files.create({ file, purpose: "batch", expires_after: { anchor: "created_at", seconds } });
  const { created_at, expires_at } = await upload(3600);
  expect(expires_at).toBe(created_at + 3600);
  await expect(upload(60)).rejects.toThrow("must be an integer between 3600 and 2592000");
});

test("files of other purposes are rejected by name", async () => {
  await using server = await startServer();
  const client = connect(server);
  const file = await namedFile("{}");
  for (const purpose of ["assistants", "fine-tune", "vision", "evals"] as const) {
    const rejected = await client.files.create({ file, purpose }).catch((error: unknown) => error);
    expect(rejected).toBeInstanceOf(BadRequestError);
    expect(String(rejected)).toContain('must be "batch" or "user_data"');
  }
  for (const purpose of ["batch", "user_data"] as const) await client.files.create({ file, purpose });
});

test("the number and the bytes of a key's files are bounded, with the reason, until one is deleted", async () => {
  await using server = await startServer({ batchLimits: { maxFiles: 2, maxBytes: 20_000 } });
  const client = connect(server);
  const upload = async (content: string) =>
    (await client.files.create({ file: await namedFile(content), purpose: "user_data" })).id;
  await expect(upload("x".repeat(20_000))).rejects.toThrow("may store 20000 bytes");
  const first = await upload("one");
  await upload("two");
  const full = await upload("three").catch((error: unknown) => error);
  expect(full).toBeInstanceOf(RateLimitError);
  expect(String(full)).toContain("this API key has 2 files");
  await client.files.delete(first);
  await upload("three");
});

test("a server without batches stores no files either, and says which setting to change", async () => {
  await using server = await startServer({ batchLimits: { maxBatches: 0 } });
  const uploading = connect(server).files.create({ file: await namedFile("{}"), purpose: "batch" });
  await expect(uploading).rejects.toThrow("set --max-batches");
});

test("fields without effect are named, and a body that is no form is rejected", async () => {
  await using server = await startServer();
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob(["{}"]), "a.jsonl");
  form.append("of_the_future", "1");
  const send = (body: string | FormData) => fetch(`${server.url}/v1/files`, { method: "POST", body });
  const accepted = await send(form);
  expect([accepted.status, accepted.headers.get("hearth-ignored")]).toEqual([
    200,
    'fields=("of_the_future")',
  ]);
  const rejected = await send("{}");
  expect(rejected.status).toBe(400);
  expect(await rejected.text()).toContain("not a valid multipart/form-data form");
});

test("Anthropic's clients, whose files have the same paths, learn in their format that there are none", async () => {
  await using server = await startServer();
  const headers = { "anthropic-version": "2023-06-01" };
  const response = await fetch(`${server.url}/v1/files`, { headers });
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { type: "error", error: { type: "not_found_error" } },
  ]);
});
