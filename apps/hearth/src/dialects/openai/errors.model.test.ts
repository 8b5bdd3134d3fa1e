import { BodyError, MethodNotAllowedError, RouteNotFoundError } from "@hearth-and-keep/http-service";
import { expect, test } from "vitest";
import { type RequestFailure, requestFailure } from "../../failures.ts";
import { startTestServer, tiny } from "../../test/start-test-server.ts";
import { mapError } from "./errors.ts";

const head = { requestId: "request-1", addLogFields: () => undefined };

function mapped(failure: RequestFailure) {
  return mapError(requestFailure(failure), head);
}

async function statusOf(url: string, request: RequestInit): Promise<number> {
  const response = await fetch(url, request);
  expect(JSON.parse(await response.text())).toHaveProperty("error.message");
  return response.status;
}

test.for<[RequestFailure, number, string | null]>([
  [{ kind: "key-missing" }, 401, "invalid_api_key"],
  [{ kind: "key-invalid" }, 401, "invalid_api_key"],
  [{ kind: "keys-conflict" }, 401, "invalid_api_key"],
  [{ kind: "admin-key-required" }, 403, "insufficient_permissions"],
  [{ kind: "site-forbidden", header: "origin" }, 403, "forbidden"],
  [{ kind: "model-not-found", model: "x" }, 404, "model_not_found"],
  [{ kind: "name-invalid", name: "?" }, 404, "model_not_found"],
  [{ kind: "prompt-too-long", promptTokens: 9, contextTokens: 8 }, 400, "context_length_exceeded"],
  [{ kind: "capability-missing", model: "x", capability: "vision" }, 400, "unsupported_capability"],
  [{ kind: "parameter-out-of-range", parameter: "topP", min: 0, max: 1 }, 400, "invalid_value"],
  [{ kind: "schema-unsupported", keyword: "not", location: "/a" }, 400, "unsupported_schema"],
  [{ kind: "template-failed", reason: "roles must alternate" }, 400, "invalid_value"],
  [
    { kind: "stored-object-not-found", object: "item", field: "input", reason: "not found" },
    404,
    "item_not_found",
  ],
  [{ kind: "response-not-stored", reason: "the disk is full" }, 507, "response_not_stored"],
  [{ kind: "batch-storage-full", reason: "delete some" }, 429, "storage_limit_exceeded"],
  [{ kind: "queue-full", waiting: 64, retryAfterSeconds: 3 }, 503, "overloaded"],
  [{ kind: "server-stopping" }, 503, "overloaded"],
  [{ kind: "model-quarantined", reason: "x", retryAfterSeconds: 2.5 }, 503, "model_unavailable"],
  [{ kind: "engine-crashed", exitCode: 1, signal: null }, 500, "engine_stopped"],
  [{ kind: "insufficient-memory", neededBytes: 1 }, 500, "insufficient_memory"],
  [{ kind: "model-invalid", reason: "it is empty" }, 500, "model_broken"],
  [{ kind: "internal-error" }, 500, null],
])("the failure %o has the status %i and the code %s", ([failure, status, code]) => {
  const { error, ...rest } = mapped(failure);
  expect(rest.status).toBe(status);
  expect(error).toMatchObject({ code, type: status < 500 ? "invalid_request_error" : "server_error" });
  expect(error.message).toMatch(/^[A-Z].*[^.]$/);
});

test("the message for a prompt that is too long contains the phrase that gateways match", () => {
  const { error } = mapped({ kind: "prompt-too-long", promptTokens: 9, contextTokens: 8 });
  expect(error.message).toContain("maximum context length is 8 tokens");
});

test("transient failures have Retry-After, and permanent ones tell clients not to retry", () => {
  expect(mapped({ kind: "queue-full", waiting: 1, retryAfterSeconds: 3 }).headers).toEqual({
    "retry-after": "3",
  });
  expect(mapped({ kind: "model-quarantined", reason: "x", retryAfterSeconds: 2.5 }).headers).toEqual({
    "retry-after": "3",
  });
  expect(mapped({ kind: "model-invalid", reason: "x" }).headers).toEqual({ "x-should-retry": "false" });
  expect(mapped({ kind: "engine-crashed", exitCode: 1, signal: null }).headers).toEqual({});
  expect(mapped({ kind: "key-invalid" }).headers).toEqual({ "www-authenticate": "Bearer" });
});

test("an internal error contains the request id and no details", () => {
  const { status, error } = mapError(new Error("secret detail"), head);
  expect(status).toBe(500);
  expect(error.message).toContain("request-1");
  expect(JSON.stringify(error)).not.toContain("secret");
});

test("errors of the HTTP service have OpenAI's format", () => {
  expect(mapError(new RouteNotFoundError(), head)).toMatchObject({
    status: 404,
    error: { code: "unknown_url" },
  });
  expect(mapError(new MethodNotAllowedError(["POST"]), head)).toMatchObject({
    status: 405,
    headers: { allow: "POST" },
  });
  expect(mapError(new BodyError("malformed"), head)).toMatchObject({ status: 400 });
  expect(mapError(new BodyError("too-large"), head)).toMatchObject({ status: 413 });
});

test("missing or invalid bodies return 400, unknown paths 404, wrong methods 405", async () => {
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
