import { BodyProblem, NoSuchMethod, NoSuchRoute } from "@hearth-and-keep/http-service";
import { expect, test } from "vitest";
import { type RequestFailure, requestFailure } from "../../failures.ts";
import { startTestServer, tiny } from "../../test/start-test-server.ts";
import { wireFailureOf } from "./errors.ts";

const head = { requestId: "request-1", note: () => undefined };

function told(failure: RequestFailure) {
  return wireFailureOf(requestFailure(failure), head);
}

async function statusOf(place: string, request: RequestInit): Promise<number> {
  const response = await fetch(place, request);
  expect(JSON.parse(await response.text())).toHaveProperty("error.message");
  return response.status;
}

test.for<[RequestFailure, number, string | null]>([
  [{ kind: "key-missing" }, 401, "invalid_api_key"],
  [{ kind: "key-wrong" }, 401, "invalid_api_key"],
  [{ kind: "keys-differ" }, 401, "invalid_api_key"],
  [{ kind: "site-forbidden", header: "origin" }, 403, "forbidden"],
  [{ kind: "model-not-found", model: "x" }, 404, "model_not_found"],
  [{ kind: "name-invalid", name: "?" }, 404, "model_not_found"],
  [{ kind: "prompt-too-long", promptTokens: 9, contextTokens: 8 }, 400, "context_length_exceeded"],
  [{ kind: "capability-lacking", model: "x", capability: "vision" }, 400, "unsupported_capability"],
  [{ kind: "parameter-out-of-bounds", parameter: "topP", least: 0, most: 1 }, 400, "invalid_value"],
  [{ kind: "schema-unsupported", keyword: "not", place: "/a" }, 400, "unsupported_schema"],
  [{ kind: "template-failed", reason: "roles must alternate" }, 400, "invalid_value"],
  [{ kind: "queue-full", waiting: 64, retryAfterSeconds: 3 }, 503, "overloaded"],
  [{ kind: "server-stopping" }, 503, "overloaded"],
  [{ kind: "model-quarantined", reason: "x", retryAfterSeconds: 2.5 }, 503, "model_unavailable"],
  [{ kind: "engine-died", exitCode: 1, signal: null }, 500, "engine_stopped"],
  [{ kind: "memory-lacking", neededBytes: 1 }, 500, "insufficient_memory"],
  [{ kind: "model-invalid", reason: "it is empty" }, 500, "model_broken"],
  [{ kind: "defect" }, 500, null],
])("the failure %o has the status %i and the code %s", ([failure, status, code]) => {
  const { error, ...rest } = told(failure);
  expect(rest.status).toBe(status);
  expect(error).toMatchObject({ code, type: status < 500 ? "invalid_request_error" : "server_error" });
  expect(error.message).toMatch(/^[A-Z].*[^.]$/);
});

test("the words that gateways look for are in the message of a prompt that is too long", () => {
  const { error } = told({ kind: "prompt-too-long", promptTokens: 9, contextTokens: 8 });
  expect(error.message).toContain("maximum context length is 8 tokens");
});

test("who should come again is told when, and who should not is told so", () => {
  expect(told({ kind: "queue-full", waiting: 1, retryAfterSeconds: 3 }).headers).toEqual({
    "retry-after": "3",
  });
  expect(told({ kind: "model-quarantined", reason: "x", retryAfterSeconds: 2.5 }).headers).toEqual({
    "retry-after": "3",
  });
  expect(told({ kind: "model-invalid", reason: "x" }).headers).toEqual({ "x-should-retry": "false" });
  expect(told({ kind: "engine-died", exitCode: 1, signal: null }).headers).toEqual({});
  expect(told({ kind: "key-wrong" }).headers).toEqual({ "www-authenticate": "Bearer" });
});

test("a fault of ours tells the request's id and nothing of what happened", () => {
  const { status, error } = wireFailureOf(new Error("secret detail"), head);
  expect(status).toBe(500);
  expect(error.message).toContain("request-1");
  expect(JSON.stringify(error)).not.toContain("secret");
});

test("what the service itself refuses is told in this family's shape", () => {
  expect(wireFailureOf(new NoSuchRoute(), head)).toMatchObject({
    status: 404,
    error: { code: "unknown_url" },
  });
  expect(wireFailureOf(new NoSuchMethod(["POST"]), head)).toMatchObject({
    status: 405,
    headers: { allow: "POST" },
  });
  expect(wireFailureOf(new BodyProblem("malformed"), head)).toMatchObject({ status: 400 });
  expect(wireFailureOf(new BodyProblem("too-large"), head)).toMatchObject({ status: 413 });
});

test("bodies that are missing or no JSON are answered 400, unknown paths 404, other methods 405", async () => {
  await using server = await startTestServer({
    models: { chat: tiny },
    script: () => [{ do: "end", reason: "stop" }],
  });
  const url = `${server.url}/v1/chat/completions`;
  expect(await statusOf(url, { method: "POST" })).toBe(400);
  expect(await statusOf(url, { method: "POST", body: "{" })).toBe(400);
  expect(await statusOf(url, {})).toBe(405);
  expect(await statusOf(`${server.url}/v1/nothing`, { method: "POST", body: "{}" })).toBe(404);
  const body = JSON.stringify({ model: "chat", messages: [{ role: "user", content: "x" }] });
  expect((await fetch(url, { method: "POST", body })).status).toBe(200);
});
