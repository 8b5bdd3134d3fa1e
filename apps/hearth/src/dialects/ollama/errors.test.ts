import type { CallHead } from "@hearth-and-keep/http-service";
import { describe, expect, test } from "vitest";
import { type RequestFailure, requestFailure } from "../../failures.ts";
import { startTestServer, tiny } from "../../test/start-test-server.ts";
import { ollamaFamily } from "./errors.ts";
import { ask, look, saying } from "./test/ask.ts";

const prompt = "What is 2+2?";
const messages = [{ role: "user", content: prompt }];

function headOf(path: string, headers: Record<string, string> = {}): CallHead {
  const notes: unknown[] = [];
  const note = (more: unknown): void => void notes.push(more);
  return { requestId: "1", method: "POST", path, parameters: {}, query: {}, headers, address: "::1", note };
}

describe("over the wire", () => {
  const cases: readonly (readonly [
    title: string,
    path: string,
    body: unknown,
    status: number,
    error: string,
  ])[] = [
    ["no body", "/api/chat", "", 400, "missing request body"],
    ["no JSON", "/api/chat", '{"model":', 400, "the request body is not valid JSON"],
    ["no model to chat with", "/api/chat", { messages }, 400, "model is required"],
    ["no model to generate with", "/api/generate", { prompt }, 404, "model '' not found"],
    [
      "an unknown model",
      "/api/generate",
      { model: "no", prompt },
      404,
      'model "no" not found, try pulling it first',
    ],
    [
      "an unknown model to load",
      "/api/chat",
      { model: "no" },
      404,
      'model "no" not found, try pulling it first',
    ],
    [
      "an unknown model to embed",
      "/api/embed",
      { model: "no" },
      404,
      'model "no" not found, try pulling it first',
    ],
    ["a name that is none", "/api/chat", { model: "../x", messages }, 400, "invalid model name"],
    [
      "a wrong type",
      "/api/chat",
      { model: "tiny", messages: [{ role: 1 }] },
      400,
      "messages.0.role must be string",
    ],
    [
      "too many probabilities",
      "/api/chat",
      { model: "tiny", messages, top_logprobs: 21 },
      400,
      "top_logprobs must be <= 20",
    ],
    [
      "a wrong duration",
      "/api/chat",
      { model: "tiny", messages, keep_alive: "soon" },
      400,
      'time: invalid duration "soon"',
    ],
  ];
  test.each(cases.map((row) => ({ title: row[0], row })))("$title", async ({ row }) => {
    const [, path, body, status, error] = row;
    await using server = await startTestServer({ models: { tiny }, script: saying("4") });
    const reply = await ask(server, path, body);
    expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect({ status: reply.status, body: reply.last }).toEqual({ status, body: { error } });
    expect(server.logged().at(-1)?.["failure"]).toEqual(expect.any(String));
    expect((await ask(server, "/api/chat", { model: "tiny", messages, keep_alive: "-1" })).status).toBe(200);
  });

  test("a path that is not there and a method that is not taken are answered in plain text", async () => {
    await using server = await startTestServer({ models: {}, script: saying() });
    const missing = await look(server, "/api/nothing");
    expect([missing.status, missing.text]).toEqual([404, "404 page not found"]);
    const wrong = await look(server, "/api/chat");
    expect([wrong.status, wrong.text, wrong.headers.get("allow")]).toEqual([
      405,
      "405 method not allowed",
      "POST",
    ]);
  });
});

describe("each failure has a status and one text", () => {
  const gone = { kind: "engine-died", exitCode: null, signal: "SIGKILL" } as const;
  const cases: readonly (readonly [RequestFailure, number, string])[] = [
    [
      { kind: "queue-full", waiting: 64, retryAfterSeconds: 3 },
      503,
      "server busy, please try again.  maximum pending requests exceeded",
    ],
    [{ kind: "key-wrong" }, 401, "unauthorized"],
    [{ kind: "key-missing" }, 401, "unauthorized"],
    [
      gone,
      500,
      "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error",
    ],
    [{ kind: "blob-missing", digest: "sha256:ab" }, 404, 'blob "sha256:ab" not found'],
    [{ kind: "capability-lacking", model: "x", capability: "chat" }, 400, '"x" does not support chat'],
    [
      { kind: "capability-lacking", model: "me/x:1", capability: "vision" },
      400,
      "registry.ollama.ai/me/x:1 does not support vision",
    ],
    [
      { kind: "memory-lacking", neededBytes: 3 * 1024 ** 3 },
      500,
      "model requires more system memory (3.0 GiB) than is available",
    ],
    [{ kind: "body-unreadable", reason: "too-large" }, 413, "the request body is too large"],
    [{ kind: "defect" }, 500, "Cannot finish this request because of a fault in the server"],
  ];
  test.each(cases)("%j", (failure, status, error) => {
    const answer = ollamaFamily.answerFailure(requestFailure(failure), headOf("/api/blobs/x"));
    expect(answer.status).toBe(status);
    expect(JSON.parse(String(answer.body))).toEqual({ error });
  });

  test("a full queue says when to come again", () => {
    const failure = requestFailure({ kind: "queue-full", waiting: 64, retryAfterSeconds: 3 });
    expect(ollamaFamily.answerFailure(failure, headOf("/api/chat")).headers).toMatchObject({
      "retry-after": "3",
    });
  });

  test("only a browser's page is asked for a password", () => {
    const failure = requestFailure({ kind: "key-missing" });
    const script = ollamaFamily.answerFailure(failure, headOf("/api/tags", { accept: "application/json" }));
    expect(script.headers?.["www-authenticate"]).toBe("Bearer");
    const page = ollamaFamily.answerFailure(failure, headOf("/", { accept: "text/html,*/*" }));
    expect(page.headers?.["www-authenticate"]).toMatch(/^Basic /u);
  });

  test("an unforeseen error says nothing of itself", () => {
    const answer = ollamaFamily.answerFailure(new Error("secret"), headOf("/api/chat"));
    expect(answer.status).toBe(500);
    expect(String(answer.body)).not.toContain("secret");
  });

  test("somebody who hung up is no fault of ours", () => {
    const answer = ollamaFamily.answerFailure(AbortSignal.abort().reason, headOf("/api/chat"));
    expect([answer.status, answer.body]).toEqual([499, '{"error":"request canceled"}']);
  });
});
