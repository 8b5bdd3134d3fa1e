import Anthropic from "@anthropic-ai/sdk";
import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { RandomChoices } from "@hearth-and-keep/output-grammars/testing";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { accessKey } from "../apps/hearth/src/access/keys.ts";
import { startTestServer, tiny, tinyVision } from "../apps/hearth/src/test/start-test-server.ts";

const clients = chooseSize({ ci: 60, show: 200, nightly: 200 });
const chatsPerClient = chooseSize({ ci: 3, show: 10, nightly: 40 });
const keyCount = 20;
const models = ["first", "second"] as const;
const keyOf = (client: number): string => `key-number-${client % keyCount}-of-twenty`;

/** Answers with the last message, word by word. */
const echo: FakeEngineScript = function* (request) {
  for (const word of lastMessage(request).split(/(?= )/u)) {
    yield { do: "wait", milliseconds: 2 };
    yield { do: "write", text: word };
  }
  yield { do: "end", reason: "stop" };
};

function lastMessage({ input }: EngineRequest): string {
  return input.type === "conversation" ? String(input.conversation.messages.at(-1)?.content) : "";
}

type Chat = {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly prompt: string;
  readonly signal: AbortSignal;
  /** Counts rejections that the client retries itself. */
  readonly observed: typeof fetch;
};

async function askOpenAI({ url, key, model, prompt, signal, observed }: Chat): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 20, fetch: observed });
  const messages = [{ role: "user" as const, content: prompt }];
  let text = "";
  for await (const { choices } of await client.chat.completions.create(
    { model, messages, stream: true },
    { signal },
  )) {
    text += choices[0]?.delta.content ?? "";
  }
  return text;
}

async function askAnthropic({ url, key, model, prompt, signal, observed }: Chat): Promise<string> {
  const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 20, fetch: observed });
  const body = { model, max_tokens: 64, messages: [{ role: "user" as const, content: prompt }] };
  return client.messages.stream(body, { signal }).finalText();
}

/** Ollama's client does not retry, so its caller does, after the time that it is told. */
async function askOllama(chat: Chat): Promise<string> {
  const { url, key, model, prompt, signal, observed } = chat;
  const retrying: typeof fetch = async (input, init) => {
    for (;;) {
      const response = await observed(input, { ...init, signal });
      if (response.status !== 503) return response;
      const seconds = Number(response.headers.get("retry-after"));
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    }
  };
  const client = new Ollama({ host: url, headers: { authorization: `Bearer ${key}` }, fetch: retrying });
  const messages = [{ role: "user", content: prompt }];
  let text = "";
  for await (const { message } of await client.chat({ model, messages, stream: true }))
    text += message.content;
  return text;
}

const families = [askOpenAI, askAnthropic, askOllama];

/** OpenAI's client ends a stream that it aborts without an error. */
function judge(answer: string, { prompt, signal }: Chat): "right" | "aborted" | "wrong" {
  if (answer === prompt) return "right";
  return signal.aborted && prompt.startsWith(answer) ? "aborted" : "wrong";
}

test("many clients of many keys, APIs and models get their own answers, whoever else aborts", {
  timeout: 600_000,
}, async () => {
  const keys = Array.from({ length: keyCount }, (_, index) =>
    accessKey(`key-${index}`, keyOf(index), "inference"),
  );
  await using server = await startTestServer({
    models: { first: tiny, second: tinyVision },
    script: echo,
    description: { splitsEvents: true },
    limits: { sequences: 4, maxQueuedPerModel: 2, contextTokens: 2048 },
    access: { keys },
    discardsLog: true,
  });
  const counts = { right: 0, wrong: 0, aborted: 0, rejected: 0, withoutRetryAfter: 0 };
  const failures: string[] = [];
  const observed: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if ([429, 503, 529].includes(response.status)) {
      counts.rejected += 1;
      if (!response.headers.has("retry-after")) counts.withoutRetryAfter += 1;
    } else if (response.status !== 200) failures.push(`status ${response.status}`);
    return response;
  };
  const run = async (client: number): Promise<void> => {
    const random = new RandomChoices(client + 1);
    for (let count = 0; count < chatsPerClient; count += 1) {
      const prompt = `client ${client} asks question ${count} about ${Math.floor(1e6 * random.fraction())} things`;
      const ask = random.oneOf(families);
      const model = random.oneOf(models);
      const abort = new AbortController();
      const timer =
        random.fraction() < 0.2 ? setTimeout(() => abort.abort(), 60 * random.fraction()) : undefined;
      const chat = { url: server.url, key: keyOf(client), model, prompt, signal: abort.signal, observed };
      try {
        counts[judge(await ask(chat), chat)] += 1;
      } catch (error) {
        if (abort.signal.aborted) counts.aborted += 1;
        else failures.push(String(error));
      }
      clearTimeout(timer);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  const total = clients * chatsPerClient;
  const text = `${clients} clients, ${keyCount} keys, ${models.length} models, 3 official clients: ${counts.right} of ${total} chats answered rightly and ${counts.aborted} aborted, ${counts.wrong} wrong, ${failures.length} failed; ${counts.rejected} rejections with Retry-After, all retried`;
  recordFigure({
    claim: "share 3",
    text,
    counted: { reached: counts.right + counts.aborted, needed: total },
  });
  expect(failures.slice(0, 5)).toEqual([]);
  expect([counts.wrong, counts.withoutRetryAfter]).toEqual([0, 0]);
  expect(counts.right + counts.aborted, text).toBe(total);
  expect(counts.rejected).toBeGreaterThan(0);
  expect(counts.aborted).toBeGreaterThan(0);
  await expect
    .poll(() => server.scheduler.queues().map(({ leases, waiting }) => leases + waiting))
    .toEqual([0, 0]);
});
