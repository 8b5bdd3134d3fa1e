import { fileURLToPath } from "node:url";
import Anthropic, { RateLimitError as AnthropicRateLimitError } from "@anthropic-ai/sdk";
import { recordFigure } from "@hearth-and-keep/figures";
import { preparePython, runPython } from "@hearth-and-keep/test-servers";
import { Ollama } from "ollama";
import OpenAI, { RateLimitError } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startLimitedServer } from "../apps/hearth/src/accounting/test/start-limited-server.ts";
import {
  addKey,
  createKeyDatabase,
  type KeyDatabase,
} from "../apps/hearth/src/key-store/test/key-databases.ts";
import type { TestServer } from "../apps/hearth/src/test/start-test-server.ts";

const minuteMilliseconds = 60_000;
let database: KeyDatabase;
let server: TestServer;
/** By the limit that refuses everything of the key. */
const secrets: Record<string, string> = {};
beforeAll(async () => {
  await preparePython();
  database = await createKeyDatabase("sqlite", minuteMilliseconds);
  await using store = await database.open();
  const limited = {
    requests: { requestsPerMinute: 1 },
    tokens: { tokensPerMinute: 1 },
    budget: { tokensPerDay: 1 },
  };
  for (const [name, limits] of Object.entries(limited)) {
    secrets[name] = (await addKey(store, { name, ...limits })).secret;
  }
  server = await startLimitedServer(database);
  const headers = { authorization: `Bearer ${secrets["requests"]}` };
  await fetch(`${server.url}/api/generate`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: "tiny", prompt: "Hi", stream: false }),
  });
}, 900_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const messages: [{ role: "user"; content: string }] = [{ role: "user", content: "Hi" }];
const limits = ["requests", "tokens", "budget"] as const;

test.each(limits)("npm clients throw their rate-limit errors: %s", async (name) => {
  const apiKey = secrets[name] ?? "";
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
  const code = name === "budget" ? "insufficient_quota" : "rate_limit_exceeded";
  const refused = await openai.chat.completions
    .create({ model: "tiny", messages })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RateLimitError);
  expect(refused).toMatchObject({ status: 429, code });
  const anthropic = new Anthropic({ baseURL: `${server.url}/alt`, apiKey, maxRetries: 0 });
  const denied = await anthropic.messages
    .create({ model: "tiny", messages, max_tokens: 8 })
    .catch((error: unknown) => error);
  expect(denied).toBeInstanceOf(AnthropicRateLimitError);
  expect(denied).toMatchObject({ status: 429, error: { error: { type: "rate_limit_error" } } });
  const ollama = new Ollama({ host: server.url, headers: { authorization: `Bearer ${apiKey}` } });
  const rejected = await ollama.chat({ model: "tiny", messages }).catch((error: unknown) => error);
  expect(rejected).toMatchObject({ name: "ResponseError", status_code: 429 });
  recordFigure({
    claim: "share 5",
    text: `npm clients: 3 of 3 throw their rate-limit error (${name})`,
    counted: { reached: 3, needed: 3 },
  });
});

test("PyPI clients raise their rate-limit errors", async () => {
  const script = fileURLToPath(new URL("python/rate-limit-calls.py", import.meta.url));
  const input = { url: server.url, secrets: limits.map((name) => secrets[name]) };
  const raised: unknown = JSON.parse(
    await runPython(script, [JSON.stringify(input)], {
      // Otherwise Python would write compiled files next to the scripts.
      environment: { PYTHONDONTWRITEBYTECODE: "1" },
    }),
  );
  const openai = "RateLimitError 429";
  expect(raised).toEqual(limits.map(() => [openai, openai, "ResponseError 429"]));
  recordFigure({
    claim: "share 5",
    text: `PyPI clients: ${limits.length * 3} of ${limits.length * 3} refusals raised as rate-limit errors`,
    counted: { reached: limits.length * 3, needed: limits.length * 3 },
  });
}, 120_000);
