import Anthropic from "@anthropic-ai/sdk";
import type { EngineFailure } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { smol, startTestServer } from "../../test/start-test-server.ts";
import { mapFailure } from "./map-failure.ts";
import {
  baseRequest,
  fakeSteps,
  post,
  prompt,
  readEvents,
  readMessage,
  startFakeServer,
  text,
} from "./test/scripts.ts";

const failing = (failure: EngineFailure) =>
  startTestServer({ models: { smol }, script: () => [{ do: "fail", failure }] });

const retryOf = (failure: Parameters<typeof mapFailure>[0]) => mapFailure(failure).headers;

test("a missing or invalid field is named by its path", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const messageOf = async (body: unknown) => {
    const response = await post(server, "/alt/v1/messages", body);
    expect(response.status).toBe(400);
    const { error } = await readMessage(response);
    expect(error.type).toBe("invalid_request_error");
    return error.message;
  };
  const { max_tokens: _, ...unlimited } = baseRequest;
  expect(await messageOf(unlimited)).toBe("max_tokens: Field required");
  expect(await messageOf({ ...baseRequest, messages: [{ role: "user" }] })).toBe(
    "messages.0.content: Field required",
  );
  expect(await messageOf({ ...baseRequest, max_tokens: -1 })).toBe("max_tokens: must be >= 0");
  expect(await messageOf({ ...baseRequest, messages: [] })).toMatch(/^messages: /u);
  expect(await messageOf({ ...baseRequest, messages: [{ role: "robot", content: "" }] })).toMatch(
    /^messages\.0\.role: /u,
  );
  expect(
    await messageOf({ ...baseRequest, messages: [{ role: "user", content: [{ type: "text" }] }] }),
  ).toMatch(/^messages\.0\.content/u);
  expect(await messageOf({ ...baseRequest, tools: [{ name: "f" }] })).toMatch(/^tools\.0/u);
  expect(await messageOf({ ...baseRequest, tool_choice: { type: "any" } })).toBe(
    'tool_choice: requires at least one tool in "tools"',
  );
  expect(await messageOf({ ...baseRequest, tool_choice: { type: "tool", name: "f" } })).toMatch(
    /^tool_choice\.name: /u,
  );
  expect((await post(server, "/alt/v1/messages", baseRequest)).status).toBe(200);
});

test("every error has Anthropic's format and the request id in a header", async () => {
  await using server = await startFakeServer([prompt(3, 0), text("ok")]);
  const response = await post(server, "/alt/v1/messages", { ...baseRequest, model: "unknown" });
  const id = response.headers.get("request-id");
  expect(id).toMatch(/^req_./u);
  expect([response.status, await response.json()]).toEqual([
    404,
    { type: "error", error: { type: "not_found_error", message: "model: unknown" }, request_id: id },
  ]);
  const succeeded = await post(server, "/alt/v1/messages", baseRequest);
  expect(succeeded.headers.get("request-id")).toMatch(/^req_./u);
  expect(server.logRecords()[0]).toMatchObject({ failure: "model-not-found", status: 404 });
});

test("a prompt longer than the context is rejected with the text that clients match, streamed or not", async () => {
  await using server = await startTestServer({ models: { smol } });
  const long = { ...baseRequest, messages: [{ role: "user", content: "word ".repeat(2000) }] };
  for (const stream of [false, true]) {
    const response = await post(server, "/alt/v1/messages", { ...long, stream });
    expect(response.status).toBe(400);
    expect((await readMessage(response)).error).toEqual({
      type: "invalid_request_error",
      message: expect.stringMatching(
        /^prompt is too long: 20\d\d tokens > 1023 maximum \(set by --context-length/u,
      ),
    });
  }
});

test("a full queue returns 529 with Retry-After, and the official client retries", async () => {
  await using server = await startTestServer({
    models: { smol },
    limits: { sequences: 1, maxQueuedPerModel: 1 },
    script: () => [{ do: "wait", milliseconds: 300 }, ...fakeSteps([prompt(3, 0), text("ok")])],
  });
  const responses = await Promise.all([1, 2, 3].map(() => post(server, "/alt/v1/messages", baseRequest)));
  const full = responses.find(({ status }) => status === 529);
  expect(responses.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
    200, 200, 529,
  ]);
  expect(Number(full?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(await full?.json()).toMatchObject({ error: { type: "overloaded_error" } });
  const client = new Anthropic({ baseURL: `${server.url}/alt`, apiKey: "any" });
  const again = await Promise.all(
    [1, 2, 3].map(() => client.messages.create({ ...baseRequest, stream: false })),
  );
  expect(again.map(({ stop_reason: reason }) => reason)).toEqual(["end_turn", "end_turn", "end_turn"]);
});

test("a failure before the first event has its own status, even for a stream", async () => {
  await using server = await failing({ kind: "engine-crashed", exitCode: 1, signal: null });
  const response = await post(server, "/alt/v1/messages", { ...baseRequest, stream: true });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ type: "error", error: { type: "api_error" } });
});

test("mid-stream error swallowed on /messages: it is the last event", async () => {
  await using server = await startTestServer({
    models: { smol },
    script: () => [
      { do: "emit", event: prompt(3, 0) },
      { do: "write", text: "half" },
      { do: "fail", failure: { kind: "engine-crashed", exitCode: null, signal: "SIGKILL" } },
    ],
  });
  const events = await readEvents(await post(server, "/alt/v1/messages", { ...baseRequest, stream: true }));
  expect(events.at(-1)).toMatchObject({
    name: "error",
    content: { type: "error", error: { type: "api_error", message: "The engine stopped while generating" } },
  });
  expect(events.map(({ name }) => name)).not.toContain("message_stop");
  expect(server.logRecords().at(-1)).toMatchObject({ failure: "engine-crashed" });
});

test("clients retry transient failures and not permanent ones", () => {
  expect(retryOf({ kind: "insufficient-memory", neededBytes: 1 })).toEqual({ "x-should-retry": "false" });
  expect(retryOf({ kind: "server-stopping" })).toHaveProperty("retry-after");
  expect(retryOf({ kind: "engine-crashed", exitCode: 1, signal: null })).toEqual({});
});

test("wrong and missing keys are authentication errors with Anthropic's texts", () => {
  expect(mapFailure({ kind: "key-invalid" })).toMatchObject({
    status: 401,
    type: "authentication_error",
    message: "invalid x-api-key",
  });
  expect(mapFailure({ kind: "key-missing" })).toMatchObject({ status: 401 });
});

test("an unknown path and a wrong method of this API get errors in its format", async () => {
  await using server = await startFakeServer([]);
  const missing = await post(server, "/alt/v1/messages/nothing", {});
  expect([missing.status, await missing.json()]).toMatchObject([404, { error: { type: "not_found_error" } }]);
  const method = await fetch(`${server.url}/alt/v1/messages`);
  expect([method.status, method.headers.get("allow")]).toEqual([405, "POST"]);
  const malformed = await fetch(`${server.url}/alt/v1/messages`, { method: "POST", body: "{" });
  expect([malformed.status, await malformed.json()]).toMatchObject([400, { type: "error" }]);
});
