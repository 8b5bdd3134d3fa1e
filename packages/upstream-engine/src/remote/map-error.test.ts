import { expect, test } from "vitest";
import { WireError } from "../wire/wire-error.ts";
import { explainRefusal } from "./map-error.ts";

function refused(status: number, message = "no"): unknown {
  return explainRefusal(new WireError({ kind: "refused", status, value: { error: { message } } }));
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
])("%s's sentence about a long prompt is read for both counts", (_engine, message) => {
  expect(refused(400, message)).toEqual({
    type: "caller",
    failure: { kind: "prompt-too-long", promptTokens: 2031, contextTokens: 1024 },
  });
});

test("an engine that is busy, broken, wrongly set up or gone leaves the request to another one", () => {
  expect([refused(429), refused(503)]).toEqual([
    { type: "elsewhere", standing: "busy" },
    { type: "elsewhere", standing: "busy" },
  ]);
  for (const status of [500, 502, 401, 404]) {
    expect(refused(status)).toEqual({ type: "elsewhere", standing: "failed" });
  }
  expect(explainRefusal(new WireError({ kind: "unreachable" }))).toEqual({
    type: "elsewhere",
    standing: "gone",
  });
  expect(explainRefusal(new WireError({ kind: "cut-off" }))).toEqual({
    type: "elsewhere",
    standing: "failed",
  });
});

test("what every engine would refuse is the caller's, and none of the engine's words are in it", () => {
  expect(JSON.stringify(refused(400, "secret of the engine"))).toBe(
    '{"type":"caller","failure":{"kind":"not-supported","feature":"a request of this kind"}}',
  );
  expect(explainRefusal(new Error("ours"))).toBeUndefined();
});

test.each([
  [
    "llama.cpp's own server",
    {
      status: 500,
      message:
        "\n------------\nWhile executing CallExpression at line 47, column 32 in source:\nError: Jinja Exception: After the optional system message, conversation roles must alternate",
    },
    "the roles of its messages must alternate",
  ],
  [
    "an older one",
    {
      status: 500,
      message:
        'System role not supported at row 1, column 9:\n{{ raise_exception("System role not supported") }}',
    },
    "the model takes no system message",
  ],
  [
    "a newer one",
    { status: 400, message: "Error: Jinja Exception: secret of 1" },
    "it does not take a conversation of this kind",
  ],
  [
    "vLLM",
    { status: 400, message: "Conversation roles must alternate user/assistant/user" },
    "the roles of its messages must alternate",
  ],
])("a template's own refusal, as %s tells it, is the caller's", (_engine, refusal, reason) => {
  const { status, message } = refusal;
  expect(refused(status, message)).toEqual({ type: "caller", failure: { kind: "template-failed", reason } });
});

test("a template that an engine cannot run at all is the engine's failure", () => {
  expect(refused(500, "Error: Unknown filter in the template")).toEqual({
    type: "elsewhere",
    standing: "failed",
  });
});
