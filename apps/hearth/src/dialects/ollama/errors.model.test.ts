import type { ErrorBody, ErrorDetails } from "@hearth-and-keep/hearth-contract";
import type { RequestHead } from "@hearth-and-keep/http-service";
import { describe, expect, test } from "vitest";
import { type RequestFailure, requestFailure } from "../../failures.ts";
import { startTestServer, tiny } from "../../test/start-test-server.ts";
import { ollamaProtocol } from "./errors.ts";
import { fakeOutput, getRequest, sendRequest } from "./test/send-request.ts";

const prompt = "What is 2+2?";
const messages = [{ role: "user", content: prompt }];

function headOf(path: string, headers: Record<string, string> = {}): RequestHead {
  return {
    requestId: "1",
    method: "POST",
    path,
    parameters: {},
    query: {},
    headers,
    clientAddress: "::1",
    addLogFields: () => undefined,
    addResponseHeaders: () => undefined,
  };
}

describe("over the wire", () => {
  const cases: readonly (readonly [
    title: string,
    path: string,
    body: unknown,
    status: number,
    error: ErrorBody,
  ])[] = [
    [
      "no body",
      "/api/chat",
      "",
      400,
      { error: "missing request body", code: "body-invalid", reason: "missing" },
    ],
    [
      "a body that is not JSON",
      "/api/chat",
      '{"model":',
      400,
      { error: "the request body is not valid JSON", code: "body-invalid", reason: "malformed" },
    ],
    [
      "a chat without a model",
      "/api/chat",
      { messages },
      400,
      { error: "model is required", code: "request-invalid" },
    ],
    [
      "a generation without a model",
      "/api/generate",
      { prompt },
      404,
      { error: "model '' not found", code: "name-invalid" },
    ],
    [
      "an unknown model",
      "/api/generate",
      { model: "no", prompt },
      404,
      { error: 'model "no" not found, try pulling it first', code: "model-not-found", model: "no" },
    ],
    [
      "an unknown model to load",
      "/api/chat",
      { model: "no" },
      404,
      { error: 'model "no" not found, try pulling it first', code: "model-not-found", model: "no" },
    ],
    [
      "an unknown model to embed",
      "/api/embed",
      { model: "no" },
      404,
      { error: 'model "no" not found, try pulling it first', code: "model-not-found", model: "no" },
    ],
    [
      "an invalid model name",
      "/api/chat",
      { model: "../x", messages },
      400,
      { error: "invalid model name", code: "name-invalid" },
    ],
    [
      "a wrong type",
      "/api/chat",
      { model: "tiny", messages: [{ role: 1 }] },
      400,
      { error: "messages.0.role must be string", code: "request-invalid" },
    ],
    [
      "too many probabilities",
      "/api/chat",
      { model: "tiny", messages, top_logprobs: 21 },
      400,
      { error: "top_logprobs must be <= 20", code: "request-invalid" },
    ],
    [
      "a wrong duration",
      "/api/chat",
      { model: "tiny", messages, keep_alive: "soon" },
      400,
      { error: 'time: invalid duration "soon"', code: "request-invalid" },
    ],
  ];
  test.each(cases.map((row) => ({ title: row[0], row })))("$title", async ({ row }) => {
    const [, path, body, status, error] = row;
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    const response = await sendRequest(server, path, body);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect({ status: response.status, body: response.last }).toEqual({ status, body: error });
    expect(server.logRecords().at(-1)?.["failure"]).toEqual(expect.any(String));
    expect(
      (await sendRequest(server, "/api/chat", { model: "tiny", messages, keep_alive: "-1" })).status,
    ).toBe(200);
  });

  test("unknown paths and methods return the texts of Ollama's router, as JSON with a code below /api", async () => {
    await using server = await startTestServer({ models: {}, script: fakeOutput() });
    const missing = await getRequest(server, "/api/nothing");
    expect([missing.status, missing.last]).toEqual([
      404,
      { error: "404 page not found", code: "route-not-found" },
    ]);
    const wrong = await getRequest(server, "/api/chat");
    expect([wrong.status, wrong.last, wrong.headers.get("allow")]).toEqual([
      405,
      { error: "405 method not allowed", code: "method-not-allowed" },
      "POST",
    ]);
    const outside = await getRequest(server, "/nothing");
    expect([outside.status, outside.text]).toEqual([404, "404 page not found"]);
  });
});

describe("each failure has a status, a message, a code and its details", () => {
  const gone = { kind: "engine-crashed", exitCode: null, signal: "SIGKILL" } as const;
  const cases: readonly (readonly [RequestFailure, number, string, ErrorDetails?])[] = [
    [
      { kind: "queue-full", waiting: 64, retryAfterSeconds: 3 },
      503,
      "server busy, please try again.  maximum pending requests exceeded",
      { retry_after_seconds: 3 },
    ],
    [{ kind: "key-invalid" }, 401, "unauthorized"],
    [{ kind: "key-missing" }, 401, "unauthorized"],
    [
      gone,
      500,
      "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error",
    ],
    [{ kind: "blob-missing", digest: "sha256:ab" }, 404, 'blob "sha256:ab" not found'],
    [
      { kind: "capability-missing", model: "x", capability: "chat" },
      400,
      '"x" does not support chat',
      { model: "x", capability: "chat" },
    ],
    [
      { kind: "capability-missing", model: "me/x:1", capability: "vision" },
      400,
      "registry.ollama.ai/me/x:1 does not support vision",
      { model: "me/x:1", capability: "vision" },
    ],
    [
      { kind: "insufficient-memory", neededBytes: 3 * 1024 ** 3 },
      500,
      "model requires more system memory (3.0 GiB) than is available",
      { needed_bytes: 3 * 1024 ** 3 },
    ],
    [
      { kind: "body-invalid", reason: "too-large" },
      413,
      "the request body is too large",
      { reason: "too-large" },
    ],
    [{ kind: "internal-error" }, 500, "internal server error"],
  ];
  const rows = cases.map(([failure, status, error, details = {}]) => ({ failure, status, error, details }));
  test.each(rows)("$failure", ({ failure, status, error, details }) => {
    const response = ollamaProtocol.errorResponse(requestFailure(failure), headOf("/api/blobs/x"));
    expect(response.status).toBe(status);
    expect(JSON.parse(String(response.body))).toEqual({ error, code: failure.kind, ...details });
  });

  test("a full queue sends Retry-After", () => {
    const failure = requestFailure({ kind: "queue-full", waiting: 64, retryAfterSeconds: 3 });
    expect(ollamaProtocol.errorResponse(failure, headOf("/api/chat")).headers).toMatchObject({
      "retry-after": "3",
    });
  });

  test("only a page load gets a Basic challenge", () => {
    const failure = requestFailure({ kind: "key-missing" });
    const script = ollamaProtocol.errorResponse(failure, headOf("/api/tags", { accept: "application/json" }));
    expect(script.headers?.["www-authenticate"]).toBe("Bearer");
    const page = ollamaProtocol.errorResponse(failure, headOf("/", { accept: "text/html,*/*" }));
    expect(page.headers?.["www-authenticate"]).toMatch(/^Basic /u);
  });

  test("an unexpected error reveals nothing about itself", () => {
    const response = ollamaProtocol.errorResponse(new Error("secret"), headOf("/api/chat"));
    expect(response.status).toBe(500);
    expect(String(response.body)).not.toContain("secret");
  });

  test("a client that disconnected is logged with status 499", () => {
    const response = ollamaProtocol.errorResponse(AbortSignal.abort().reason, headOf("/api/chat"));
    expect([response.status, response.body]).toEqual([499, '{"error":"request canceled"}']);
  });
});
