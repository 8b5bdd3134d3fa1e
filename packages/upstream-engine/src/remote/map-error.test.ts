import { expect, test } from "vitest";
import { WireError } from "../wire/wire-error.ts";
import { classifyError } from "./map-error.ts";

function classify(status: number, message = "no"): unknown {
  return classifyError(new WireError({ kind: "error-response", status, value: { error: { message } } }));
}

test.each([
  ["llama.cpp", "request (2031 tokens) exceeds the available context size (1024 tokens), try increasing it"],
  [
    "vLLM",
    "This model's maximum context length is 1024 tokens. However, you requested 2131 tokens (2031 in the messages, 100 in the completion). Please reduce the length",
  ],
  [
    "newer vLLM",
    "This model's maximum context length is 1024 tokens. However, your request has 2031 input tokens",
  ],
  [
    "SGLang",
    "Requested token count exceeds the model's maximum context length of 1024 tokens. You requested a total of 2131 tokens: 2031 tokens from the input messages and 100 tokens for the completion.",
  ],
])("both counts are read from %s's message about a long prompt", (_engine, message) => {
  expect(classify(400, message)).toEqual({
    type: "client-error",
    failure: { kind: "prompt-too-long", promptTokens: 2031, contextTokens: 1024 },
  });
});

test("a request to a busy, failing, misconfigured or unreachable engine can be retried elsewhere", () => {
  expect([classify(429), classify(503)]).toEqual([
    { type: "retry-elsewhere", condition: "busy" },
    { type: "retry-elsewhere", condition: "busy" },
  ]);
  for (const status of [500, 502, 401, 404]) {
    expect(classify(status)).toEqual({ type: "retry-elsewhere", condition: "failed" });
  }
  expect(classifyError(new WireError({ kind: "unreachable" }))).toEqual({
    type: "retry-elsewhere",
    condition: "unreachable",
  });
  expect(classifyError(new WireError({ kind: "interrupted" }))).toEqual({
    type: "retry-elsewhere",
    condition: "failed",
  });
});

test("a request that every engine would reject is a client error without text from the engine", () => {
  expect(JSON.stringify(classify(400, "secret of the engine"))).toBe(
    '{"type":"client-error","failure":{"kind":"not-supported","feature":"this type of request"}}',
  );
  expect(classifyError(new Error("ours"))).toBeUndefined();
});

test("embeddings of a chat-only model → 503: the request is rejected as not supported", () => {
  const missingEndpoint = { kind: "error-response", status: 404, value: { detail: "Not Found" } } as const;
  const rejected = { type: "client-error", failure: { kind: "not-supported" } };
  expect(classifyError(new WireError(missingEndpoint))).toMatchObject(rejected);
  expect([classify(405), classify(501)]).toMatchObject([rejected, rejected]);
  expect(classify(404, "The model `x` does not exist")).toMatchObject({ type: "retry-elsewhere" });
});

test.each([
  [
    "llama.cpp's own server",
    {
      status: 500,
      message:
        "\n------------\nWhile executing CallExpression at line 47, column 32 in source:\nError: Jinja Exception: After the optional system message, conversation roles must alternate",
    },
    "the message roles must alternate",
  ],
  [
    "an older version",
    {
      status: 500,
      message:
        'System role not supported at row 1, column 9:\n{{ raise_exception("System role not supported") }}',
    },
    "the model does not support system messages",
  ],
  [
    "a newer version",
    { status: 400, message: "Error: Jinja Exception: secret of 1" },
    "it does not support this type of conversation",
  ],
  [
    "vLLM",
    { status: 400, message: "Conversation roles must alternate user/assistant/user" },
    "the message roles must alternate",
  ],
])("a template exception, as reported by %s, is a client error", (_engine, response, reason) => {
  const { status, message } = response;
  expect(classify(status, message)).toEqual({
    type: "client-error",
    failure: { kind: "template-failed", reason },
  });
});

test("a template that an engine cannot run at all is an engine failure", () => {
  expect(classify(500, "Error: Unknown filter in the template")).toEqual({
    type: "retry-elsewhere",
    condition: "failed",
  });
});
