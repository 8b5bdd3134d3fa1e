import Anthropic, { APIError, BadRequestError, NotFoundError } from "@anthropic-ai/sdk";
import type { EngineFailure } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { minilm, smol, startTestServer } from "../../test/start-test-server.ts";
import { explainFailure } from "./map-failure.ts";
import { ask, playing, post, prompt, readAnswer, readEvents, startSaying, text } from "./test/scripts.ts";

const failing = (failure: EngineFailure) =>
  startTestServer({ models: { smol }, script: () => [{ do: "fail", failure }] });

const retryOf = (failure: Parameters<typeof explainFailure>[0]) => explainFailure(failure).headers;

test("what a request lacks or has wrong is named by its place", async () => {
  await using server = await startSaying([prompt(3, 0), text("ok")]);
  const refusalOf = async (body: unknown) => {
    const response = await post(server, "/alt/v1/messages", body);
    expect(response.status).toBe(400);
    const { error } = await readAnswer(response);
    expect(error.type).toBe("invalid_request_error");
    return error.message;
  };
  const { max_tokens: _, ...unlimited } = ask;
  expect(await refusalOf(unlimited)).toBe("max_tokens: Field required");
  expect(await refusalOf({ ...ask, messages: [{ role: "user" }] })).toBe(
    "messages.0.content: Field required",
  );
  expect(await refusalOf({ ...ask, max_tokens: 0 })).toBe("max_tokens: must be >= 1");
  expect(await refusalOf({ ...ask, messages: [] })).toMatch(/^messages: /u);
  expect(await refusalOf({ ...ask, messages: [{ role: "robot", content: "" }] })).toMatch(
    /^messages\.0\.role: /u,
  );
  expect(await refusalOf({ ...ask, messages: [{ role: "user", content: [{ type: "text" }] }] })).toMatch(
    /^messages\.0\.content/u,
  );
  expect(await refusalOf({ ...ask, tools: [{ name: "f" }] })).toMatch(/^tools\.0/u);
  expect(await refusalOf({ ...ask, tool_choice: { type: "any" } })).toBe("tool_choice: needs tools");
  expect(await refusalOf({ ...ask, tool_choice: { type: "tool", name: "f" } })).toMatch(
    /^tool_choice\.name: /u,
  );
  expect((await post(server, "/alt/v1/messages", ask)).status).toBe(200);
});

test("every refusal has the family's shape, and its id in a header", async () => {
  await using server = await startSaying([prompt(3, 0), text("ok")]);
  const response = await post(server, "/alt/v1/messages", { ...ask, model: "nobody" });
  const id = response.headers.get("request-id");
  expect(id).toMatch(/^req_./u);
  expect([response.status, await response.json()]).toEqual([
    404,
    { type: "error", error: { type: "not_found_error", message: "model: nobody" }, request_id: id },
  ]);
  const answered = await post(server, "/alt/v1/messages", ask);
  expect(answered.headers.get("request-id")).toMatch(/^req_./u);
  expect(server.logged()[0]).toMatchObject({ failure: "model-not-found", status: 404 });
});

test("the official client throws the error class of each failure", async () => {
  await using server = await startTestServer({ models: { smol, minilm } });
  const client = new Anthropic({ baseURL: `${server.url}/alt`, apiKey: "any", maxRetries: 0 });
  const create = (more: object) => client.messages.create({ ...ask, ...more, stream: false });
  await expect(create({ model: "nobody" })).rejects.toThrow(NotFoundError);
  await expect(create({ model: "../x" })).rejects.toThrow(NotFoundError);
  await expect(create({ max_tokens: "many" })).rejects.toThrow(BadRequestError);
  await expect(create({ model: "minilm" })).rejects.toThrow(/does not support completion/u);
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AQID" } };
  await expect(create({ messages: [{ role: "user", content: [image] }] })).rejects.toThrow(/400.*vision/u);
  await expect(client.models.retrieve("nobody")).rejects.toThrow(NotFoundError);
});

test("a prompt longer than the context is refused in the words that clients look for, streamed or not", async () => {
  await using server = await startTestServer({ models: { smol } });
  const long = { ...ask, messages: [{ role: "user", content: "word ".repeat(2000) }] };
  for (const stream of [false, true]) {
    const response = await post(server, "/alt/v1/messages", { ...long, stream });
    expect(response.status).toBe(400);
    expect((await readAnswer(response)).error).toEqual({
      type: "invalid_request_error",
      message: expect.stringMatching(/^prompt is too long: 20\d\d tokens > 1023 maximum$/u),
    });
  }
});

test("a full waiting line is 529 with advice when to come again, and the official client does", async () => {
  await using server = await startTestServer({
    models: { smol },
    limits: { sequences: 1, waitingLine: 1 },
    script: () => [{ do: "wait", milliseconds: 300 }, ...playing([prompt(3, 0), text("ok")])],
  });
  const answers = await Promise.all([1, 2, 3].map(() => post(server, "/alt/v1/messages", ask)));
  const full = answers.find(({ status }) => status === 529);
  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 200, 529]);
  expect(Number(full?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(await full?.json()).toMatchObject({ error: { type: "overloaded_error" } });
  const client = new Anthropic({ baseURL: `${server.url}/alt`, apiKey: "any" });
  const again = await Promise.all([1, 2, 3].map(() => client.messages.create({ ...ask, stream: false })));
  expect(again.map(({ stop_reason: reason }) => reason)).toEqual(["end_turn", "end_turn", "end_turn"]);
});

test("a failure before the first event has its own status, also for a stream", async () => {
  await using server = await failing({ kind: "engine-died", exitCode: 1, signal: null });
  const response = await post(server, "/alt/v1/messages", { ...ask, stream: true });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ type: "error", error: { type: "api_error" } });
});

test("mid-stream error swallowed on /messages: it is the last event, and the official client throws", async () => {
  await using server = await startTestServer({
    models: { smol },
    script: () => [
      { do: "emit", event: prompt(3, 0) },
      { do: "say", text: "half" },
      { do: "fail", failure: { kind: "engine-died", exitCode: null, signal: "SIGKILL" } },
    ],
  });
  const events = await readEvents(await post(server, "/alt/v1/messages", { ...ask, stream: true }));
  expect(events.at(-1)).toMatchObject({
    name: "error",
    content: { type: "error", error: { type: "api_error", message: "Cannot finish: the engine stopped" } },
  });
  expect(events.map(({ name }) => name)).not.toContain("message_stop");
  expect(server.logged().at(-1)).toMatchObject({ failure: "engine-died" });
  const client = new Anthropic({ baseURL: `${server.url}/alt`, apiKey: "any", maxRetries: 0 });
  const stream = client.messages.stream(ask);
  await expect(stream.finalMessage()).rejects.toThrow(APIError);
});

test("what goes wrong for good is not tried again by clients, what passes is", () => {
  expect(retryOf({ kind: "memory-lacking", neededBytes: 1 })).toEqual({ "x-should-retry": "false" });
  expect(retryOf({ kind: "server-stopping" })).toHaveProperty("retry-after");
  expect(retryOf({ kind: "engine-died", exitCode: 1, signal: null })).toEqual({});
});

test("wrong and missing keys are authentication errors in the vendor's words", () => {
  expect(explainFailure({ kind: "key-wrong" })).toMatchObject({
    status: 401,
    type: "authentication_error",
    message: "invalid x-api-key",
  });
  expect(explainFailure({ kind: "key-missing" })).toMatchObject({ status: 401 });
});

test("a path of this family that does not exist, and a wrong method, are told in its shape", async () => {
  await using server = await startSaying([]);
  const missing = await post(server, "/alt/v1/messages/batches", {});
  expect([missing.status, await missing.json()]).toMatchObject([404, { error: { type: "not_found_error" } }]);
  const method = await fetch(`${server.url}/alt/v1/messages`);
  expect([method.status, method.headers.get("allow")]).toEqual([405, "POST"]);
  const malformed = await fetch(`${server.url}/alt/v1/messages`, { method: "POST", body: "{" });
  expect([malformed.status, await malformed.json()]).toMatchObject([400, { type: "error" }]);
});
