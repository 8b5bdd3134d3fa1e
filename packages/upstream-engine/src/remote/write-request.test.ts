import type { EngineRequest, Sampling } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { type DialectName, dialects } from "./dialects.ts";
import { writeRequest } from "./write-request.ts";

const defaultSampling: Sampling = {
  temperature: 0.7,
  topK: 40,
  topP: 0.9,
  minP: 0,
  typicalP: 1,
  repeatPenalty: 1.1,
  repeatLastTokens: 64,
  frequencyPenalty: 0,
  presencePenalty: 0,
  seed: 7,
  logitBias: new Map(),
};
const tool = { name: "add", parameters: { type: "object", properties: { a: { type: "integer" } } } } as const;

type Changes = Partial<Omit<EngineRequest, "sampling">> & {
  readonly sampling?: Partial<Sampling>;
  readonly canHearAudio?: boolean;
};

function bodyFor(dialect: DialectName, changes: Changes = {}, supportsTools = true) {
  const { sampling = {}, canHearAudio = false, ...others } = changes;
  const request: EngineRequest = {
    input: {
      type: "conversation",
      conversation: { messages: [{ role: "user", content: "Hi" }], tools: [tool] },
    },
    maxTokens: 9,
    cachePartition: "key",
    ...others,
    sampling: { ...defaultSampling, ...sampling },
  };
  const support = { supportsTools, canSeeImages: false, canHearAudio };
  const engine = { dialect: dialects[dialect], model: "m", ...support };
  return writeRequest(request, engine).body;
}

test("each engine gets the same options in its own fields", () => {
  const sampling = { topK: 5, minP: 0.1, repeatPenalty: 1.2 };
  expect(bodyFor("llama-server", { sampling })).toMatchObject({
    top_k: 5,
    min_p: 0.1,
    repeat_penalty: 1.2,
    repeat_last_n: 64,
  });
  for (const name of ["vllm", "sglang"] as const) {
    expect(bodyFor(name, { sampling })).toMatchObject({
      top_k: 5,
      min_p: 0.1,
      repetition_penalty: 1.2,
      cache_salt: "key",
    });
    expect(bodyFor(name, { sampling: { topK: 0 } })).toMatchObject({ top_k: -1 });
  }
  const plain = bodyFor("openai");
  expect(plain).toMatchObject({ temperature: 0.7, top_p: 0.9, seed: 7, max_tokens: 9 });
  for (const field of ["top_k", "min_p", "repeat_penalty", "repetition_penalty", "cache_salt"])
    expect(plain).not.toHaveProperty(field);
});

test.each<[DialectName, Changes, string]>([
  ["openai", { sampling: { topK: 3 } }, "top_k"],
  ["openai", { sampling: { minP: 0.1 } }, "min_p"],
  ["vllm", { sampling: { typicalP: 0.5 } }, "typical_p"],
  ["openai", { sampling: { repeatPenalty: 1.3 } }, "repeat_penalty"],
  ["sglang", { sampling: { repeatPenalty: 1.3, repeatLastTokens: 10 } }, "repeat_last_n"],
  ["openai", { constraint: { type: "gbnf", grammar: "root ::= [a]" } }, "grammars"],
  ["vllm", { input: { type: "fill-in-the-middle", prefix: "a", suffix: "b" } }, "fill-in-the-middle"],
])("an option that %s does not support is rejected: %j as %s", (dialect, changes, feature) => {
  expect(() => bodyFor(dialect, changes)).toThrow(
    expect.objectContaining({ failure: { kind: "not-supported", feature } }),
  );
});

test("grammars, schemas and forced tool calls use each engine's own fields", () => {
  const grammar = { constraint: { type: "gbnf", grammar: "root ::= [a]" } } as const;
  expect(bodyFor("llama-server", grammar)).toMatchObject({ grammar: "root ::= [a]" });
  expect(bodyFor("vllm", grammar)).toMatchObject({ structured_outputs: { grammar: "root ::= [a]" } });
  expect(bodyFor("sglang", grammar)).toMatchObject({ ebnf: "root ::= [a]" });
  expect(bodyFor("openai", { constraint: { type: "json-schema", schema: {} } })).toMatchObject({
    response_format: { type: "json_schema" },
  });
  const forced = { constraint: { type: "tool-calls", tools: [tool], maxCalls: 1 } } as const;
  expect(bodyFor("vllm", forced)).toMatchObject({
    tools: [{ function: { name: "add" } }],
    tool_choice: { function: { name: "add" } },
    parallel_tool_calls: false,
  });
});

test("a limit on thinking is sent to engines that have a field for it", () => {
  expect(bodyFor("llama-server", { maxReasoningTokens: 5 })).toMatchObject({ thinking_budget_tokens: 5 });
  expect(bodyFor("llama-server")).not.toHaveProperty("thinking_budget_tokens");
  for (const dialect of ["vllm", "sglang", "openai"] as const)
    expect(bodyFor(dialect, { maxReasoningTokens: 5 })).toEqual(bodyFor(dialect));
});

test("an engine whose template has no tools gets none, and a call is enforced through its JSON Schema", () => {
  const body = bodyFor(
    "llama-server",
    { constraint: { type: "tool-calls", tools: [tool], maxCalls: 1 } },
    false,
  );
  expect(body).not.toHaveProperty("tools");
  expect(body).toMatchObject({
    response_format: { json_schema: { schema: { anyOf: [{ properties: { name: { const: "add" } } }] } } },
  });
});

test("a request without a limit sends none, and images are rejected for a model without vision", () => {
  expect(bodyFor("vllm", { maxTokens: Number.MAX_SAFE_INTEGER })).not.toHaveProperty("max_tokens");
  const images = [{ bytes: Uint8Array.of(1), mediaType: "image/png" }];
  const messages = [{ role: "user", content: "See", images }] as const;
  expect(() => bodyFor("vllm", { input: { type: "conversation", conversation: { messages } } })).toThrow(
    expect.objectContaining({ failure: { kind: "not-supported", feature: "images" } }),
  );
});

test.each(["llama-server", "vllm", "openai"] as const)(
  "audio is sent to %s before the text if the model hears it, and rejected otherwise",
  (dialect) => {
    const audio = [{ bytes: Uint8Array.of(1, 2), mediaType: "audio/mpeg", seconds: 1 }] as const;
    const messages = [{ role: "user", content: "Listen", audio }] as const;
    const input = { type: "conversation", conversation: { messages } } as const;
    expect(bodyFor(dialect, { input, canHearAudio: true })["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "input_audio", input_audio: { data: "AQI=", format: "mp3" } },
          { type: "text", text: "Listen" },
        ],
      },
    ]);
    expect(() => bodyFor(dialect, { input })).toThrow(
      expect.objectContaining({ failure: { kind: "not-supported", feature: "audio input" } }),
    );
  },
);

test("a template in a request is rejected, because remote engines render prompts themselves", () => {
  const conversation = { messages: [{ role: "user", content: "Hi" }], goTemplate: "{{ .Prompt }}" } as const;
  for (const dialect of ["llama-server", "vllm", "sglang", "openai"] as const) {
    expect(() => bodyFor(dialect, { input: { type: "conversation", conversation } })).toThrow(
      expect.objectContaining({ failure: { kind: "not-supported", feature: "templates in requests" } }),
    );
  }
});
