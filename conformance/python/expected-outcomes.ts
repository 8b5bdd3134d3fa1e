import { rejections } from "./run-calls.ts";

type Outcomes = Readonly<Record<string, unknown>>;

const calls = [
  ["weather", "Rome"],
  ["weather", "Oslo"],
];
const models = ["minilm:latest", "smol:latest", "tiny:latest"];
const sunny = "It is sunny";
const thinking = "I look it up";
const alike = { alike: true, tokens: 8, reason: "length" };
const responseRejected = { error: "ResponseError", status: 401 };
const authenticationRejected = { error: "AuthenticationError", status: 401 };
const providers = ["ollama", "ollama_chat", "openai", "anthropic"];

/** The expected outcome of every call of every client. */
export const expectedOutcomes: Readonly<Record<string, Outcomes>> = {
  ollama: {
    list: models,
    show: "llama",
    "generate, complete and streamed": alike,
    "generate raw": true,
    "generate with a suffix": 8,
    "load, ps and unload": ["load", true, "unload", true],
    "chat, complete and streamed": alike,
    "chat with probabilities": [8, 3],
    "chat within a pydantic schema": "bool",
    "chat thinking on": 8,
    "chat thinking off": 8,
    "chat thinking high": 8,
    "chat thinking without support": { error: "ResponseError", status: 400 },
    embed: [128, 128],
    embeddings: 384,
    copy: "success",
    delete: "success",
    "delete an unknown model": { error: "ResponseError", status: 404 },
    "chat with an unknown model": { error: "ResponseError", status: 404 },
    "create_blob, and a model from it": ["sha256:", "success", 8, "success"],
    "create from a model with all fields": [
      ["writing manifest", "success"],
      "MIT\nApache-2.0",
      ["stop", '"#"', "temperature", "0", "num_ctx", "1024"],
      "tiny:latest",
    ],
    push: "success",
    "push streamed": ["retrieving manifest", "success", true],
    "pull streamed": ["pulling manifest", "success", true, true],
    "pull after an aborted pull": ["success", "success"],
    "async: create_blob, create, push, delete, pull": Array.from({ length: 5 }, () => "success"),
    "pull an unknown model": { error: "ResponseError", status: 500 },
    "push an unknown model": { error: "ResponseError", status: 404 },
    "create without a source": { error: "ResponseError", status: 400 },
    "key from the environment": 3,
    "async: list, show, chat, generate, embed": {
      models: 3,
      shown: ["embedding"],
      alike: true,
      ended: true,
      dimensions: 384,
    },
    "tools from Python functions": {
      calls: calls.map(([name, city]) => [name, { city }]),
      response: sunny,
      reason: "stop",
    },
    "tools streamed": ["Rome", "Oslo"],
    "thinking streamed": [thinking, sunny],
    "failure mid-stream": { seen: ["half"], error: "ResponseError" },
    ...rejections(["list", "ps", "show", "generate", "generate streamed", "chat"], responseRejected),
    ...rejections(["embed", "embeddings", "copy", "delete"], responseRejected),
    ...rejections(["create", "create_blob", "push", "pull"], responseRejected),
  },
  openai: {
    "models.list": models,
    "models.retrieve": "local",
    "chat, complete and streamed": { alike: true, reason: "length", tokens: [8, 8] },
    "chat by the stream helper": { kinds: ["chunk", "content.delta", "content.done"], said: sunny },
    max_completion_tokens: ["length", 4],
    "parse into a pydantic model": "bool",
    probabilities: [8, 3],
    "two choices": [0, 1],
    "raw response with its request id": [true, true],
    "developer role": true,
    "completions, complete and streamed": true,
    "embeddings, base64 and plain": [2, 384, true],
    "embeddings of tokens": { error: "BadRequestError", status: 400 },
    "responses, complete and streamed": { alike: true, status: "incomplete", last: "response.incomplete" },
    "responses by the stream helper": { first: "response.created", last: "response.completed", said: sunny },
    "unknown model": { error: "NotFoundError", status: 404 },
    "prompt too long": { error: "BadRequestError", status: 400 },
    "async: chat, responses, embeddings, models": { alike: true, said: true, dimensions: 384, models: 3 },
    "tools with a second turn": { calls, ids: 2, reasons: ["tool_calls", "stop"], response: sunny },
    "tools by the stream helper": ['{"city":"Rome"}', '{"city":"Oslo"}'],
    tool_choice: { auto: 2, none: 0, required: 2, named: 1, "not parallel": 1 },
    thinking: [thinking, thinking, sunny],
    "responses with tools and a second turn": [2, sunny],
    "chat failing mid-stream": { seen: true, error: "APIError" },
    "responses failing mid-stream": { seen: true, error: "APIError" },
    "chat failing immediately": { error: "InternalServerError", status: 500 },
    ...rejections(["models.list", "models.retrieve", "chat", "chat streamed"], authenticationRejected),
    ...rejections(["completions", "embeddings", "responses"], authenticationRejected),
  },
  anthropic: {
    "models.list": models,
    "models.retrieve": "model",
    "messages, complete and streamed": { alike: true, reason: "max_tokens", tokens: [8, 8] },
    "count_tokens equals the usage": true,
    "root URL with an auth token": "message",
    "prefill and stop_sequences": [true, true],
    "system as blocks": "message",
    "system among the messages": "message",
    "beta messages": "message",
    "unknown model": { error: "NotFoundError", status: 404 },
    "prompt too long": { error: "BadRequestError", status: 400 },
    "async: messages, streamed, count_tokens, models": {
      type: "message",
      ends: ["message_start", "message_stop"],
      counts: true,
      models: 3,
    },
    "tools with a second turn": { calls, reasons: ["tool_use", "end_turn"], response: sunny },
    tool_choice: { auto: 2, any: 2, named: 2, none: 0, "not parallel": 1 },
    "tools streamed": { written: '{"city":"Rome"}{"city":"Oslo"}', calls: ["Rome", "Oslo"] },
    tool_runner: sunny,
    thinking: [["thinking", "text"], thinking],
    "eight concurrent streams with thinking": Array.from({ length: 8 }, () => [thinking, sunny]),
    "failure mid-stream": { seen: ["half"], error: "APIStatusError" },
    "failure immediately": { error: "InternalServerError", status: 500 },
    ...rejections(
      ["messages", "messages streamed", "count_tokens", "models.list", "models.retrieve"],
      authenticationRejected,
    ),
  },
  litellm: {
    ...throughEach("completion", { said: true, tokens: 8 }),
    ...throughEach("acompletion streamed", { said: true, ended: "length" }),
    // LiteLLM reports every finish reason as stop here.
    "ollama: acompletion streamed": { said: true, ended: "stop" },
    ...throughEach("unknown model", "NotFoundError"),
    ...throughEach("tools", { calls, reason: "tool_calls" }, ["ollama_chat", "openai", "anthropic"]),
    ...throughEach("response_format", "bool", ["ollama", "ollama_chat", "openai"]),
    ...throughEach("prompt too long", "ContextWindowExceededError", ["openai", "anthropic"]),
    "openai: embedding": [384, 384],
    "ollama: embedding": [384, 384],
    "ollama: embedding without the required key": "AuthenticationError",
    ...rejections(
      providers.map((provider) => `${provider}: completion`),
      "AuthenticationError",
    ),
  },
};

function throughEach(call: string, outcome: unknown, among = providers): Outcomes {
  return Object.fromEntries(among.map((provider) => [`${provider}: ${call}`, outcome]));
}
