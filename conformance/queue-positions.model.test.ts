import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import type { FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { chooseSize, hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { runPython } from "@hearth-and-keep/test-servers";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { accessKey } from "../apps/hearth/src/access/keys.ts";
import { startTestServer, type TestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";

const answer = "It is sunny";
const families = ["OpenAI", "Responses", "Anthropic", "Ollama", "Ollama as events"] as const;
type Family = (typeof families)[number];
const keyOf = (family: Family): string => `key-of-the-clients-of-${family.replaceAll(" ", "-")}`;

const slots = 2;
const clientsPerFamily = chooseSize({ ci: 3, show: 6, nightly: 12 });
const leaseMilliseconds = chooseSize({ ci: 600, show: 2000, nightly: 2000 });
const noticeSeconds = chooseSize({ ci: 0.1, show: 1, nightly: 5 });

/** Requests of the same kind never take exactly the same time. */
function* writeSlowly(turn: number): Generator<FakeEngineStep> {
  yield { do: "wait", milliseconds: leaseMilliseconds * (0.7 + 0.2 * (turn % 4)) };
  for (const text of answer.split(/(?= )/u)) yield { do: "write", text };
  yield { do: "end", reason: "stop" };
}

function startServer(): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    script: (_request, turn) => writeSlowly(turn),
    description: { splitsEvents: true },
    limits: { sequences: slots, queueNoticeSeconds: noticeSeconds },
    access: { keys: families.map((family) => accessKey(family, keyOf(family), "inference")) },
  });
}

type Notice = { readonly position: number; readonly seconds: number | undefined; readonly at: number };
type Told = {
  readonly notices: readonly Notice[];
  readonly header: string | null;
  readonly servedAt: number;
};

const notice = /queued, position (?<position>\d+)(?:, about (?<seconds>\d+) s)?/gu;

/** A `fetch` for official clients that also reads what they skip. */
function createObserver() {
  const notices: Notice[] = [];
  let header: string | null = null;
  let servedAt = 0;
  const observe = (bytes: Uint8Array): void => {
    const text = Buffer.from(bytes).toString();
    for (const { groups } of text.matchAll(notice)) {
      const { position, seconds } = groups ?? {};
      notices.push({
        position: Number(position),
        seconds: seconds === undefined ? undefined : Number(seconds),
        at: performance.now(),
      });
    }
    if (servedAt === 0 && text.includes("sunny")) servedAt = performance.now();
  };
  const observedFetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init);
    header = response.headers.get("hearth-queue-position");
    const transform = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        observe(bytes);
        controller.enqueue(bytes);
      },
    });
    return new Response(response.body?.pipeThrough(transform) ?? null, response);
  };
  return { fetch: observedFetch, told: (): Told => ({ notices, header, servedAt }) };
}

const messages = [{ role: "user" as const, content: "How is the weather?" }];

/** The text as each official client yields it. */
const ask: Readonly<Record<Family, (url: string, observed: typeof fetch) => Promise<string>>> = {
  OpenAI: async (url, observed) => {
    const options = { baseURL: `${url}/v1`, apiKey: keyOf("OpenAI"), maxRetries: 0, fetch: observed };
    const stream = await new OpenAI(options).chat.completions.create({
      model: "tiny",
      messages,
      stream: true,
    });
    let text = "";
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
    return text;
  },
  Responses: async (url, observed) => {
    const options = { baseURL: `${url}/v1`, apiKey: keyOf("Responses"), maxRetries: 0, fetch: observed };
    const body = { model: "tiny", input: "How is the weather?", stream: true, store: false } as const;
    let text = "";
    for await (const event of await new OpenAI(options).responses.create(body)) {
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    return text;
  },
  Anthropic: async (url, observed) => {
    const options = { baseURL: url, apiKey: keyOf("Anthropic"), maxRetries: 0, fetch: observed };
    const stream = new Anthropic(options).messages.stream({ model: "tiny", max_tokens: 64, messages });
    return stream.finalText();
  },
  Ollama: async (url, observed) => {
    const headers = { authorization: `Bearer ${keyOf("Ollama")}` };
    const client = new Ollama({ host: url, headers, fetch: observed });
    let text = "";
    for await (const { message } of await client.chat({ model: "tiny", messages, stream: true })) {
      text += message.content;
    }
    return text;
  },
  // No official client of Ollama reads events; the terminal and the web UI do.
  "Ollama as events": async (url, observed) => {
    const response = await observed(`${url}/api/chat`, {
      method: "POST",
      headers: { authorization: `Bearer ${keyOf("Ollama as events")}`, accept: "text/event-stream" },
      body: JSON.stringify({ model: "tiny", messages }),
    });
    const events = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
    return events.map((event) => JSON.parse(event.slice(6)).message.content).join("");
  },
};

test("waiting clients of every API are told positions that fall, and an estimate that holds", {
  timeout: 300_000,
}, async () => {
  await using server = await startServer();
  // The first requests measure how long a lease takes.
  await Promise.all([0, 1, 2, 3].map(() => ask.OpenAI(server.url, fetch)));
  const results = await Promise.all(
    families.flatMap((family) =>
      Array.from({ length: clientsPerFamily }, async () => {
        const observer = createObserver();
        const text = await ask[family](server.url, observer.fetch);
        return { family, text, ...observer.told() };
      }),
    ),
  );
  const parsed = results.filter(({ text }) => text === answer);
  const waited = results.filter(({ notices }) => notices.length > 0);
  const falling = waited.filter(({ notices }) => isFalling(notices.map(({ position }) => position)));
  const ratios = results.flatMap(({ notices, servedAt }) =>
    notices.flatMap(({ seconds, at }) => (seconds === undefined ? [] : [(servedAt - at) / 1000 / seconds])),
  );
  const median = ratios.toSorted((one, other) => one - other)[Math.floor(ratios.length / 2)] ?? Number.NaN;
  const text = [
    `${parsed.length} of ${results.length} streams of the official clients of ${families.join(", ")} are parsed`,
    `${falling.length} of ${waited.length} that were told positions were told falling ones`,
    `the real wait is ${median.toFixed(2)} times the estimate at the median of ${ratios.length}`,
  ].join("; ");
  recordFigure({ claim: "share 6", text, counted: { reached: parsed.length, needed: results.length } });
  expect(parsed).toHaveLength(results.length);
  expect(falling).toHaveLength(waited.length);
  // NDJSON has no comments, but headers.
  const withComments = families.filter((family) => family !== "Ollama");
  expect(new Set(waited.map(({ family }) => family))).toEqual(new Set(withComments));
  const withHeader = results.filter(({ header }) => Number(header) > 0);
  expect(new Set(withHeader.map(({ family }) => family))).toEqual(new Set(families));
  const bound = hasLooseTimingBounds ? 10 : 2;
  expect(median, text).toBeLessThanOrEqual(bound);
  expect(median, text).toBeGreaterThanOrEqual(1 / bound);
});

function isFalling(positions: readonly number[]): boolean {
  return positions.every((position, index) => position < (positions[index - 1] ?? Number.POSITIVE_INFINITY));
}

test("the official Python clients parse streams in which they are told their positions", {
  timeout: 120_000,
}, async () => {
  await using server = await startServer();
  const over = new AbortController();
  const keepBusy = async (): Promise<void> => {
    while (!over.signal.aborted) await ask.OpenAI(server.url, fetch);
  };
  const others = Array.from({ length: 3 * slots }, keepBusy);
  const script = join(import.meta.dirname, "python/queued-streams.py");
  const printed: Readonly<Record<string, string>> = JSON.parse(
    await runPython(script, [server.url, keyOf("Ollama")]),
  );
  over.abort();
  await Promise.all(others);
  const waits = server.logRecords().filter(({ keyName }) => keyName === "Ollama");
  // Positions are reported twice a second.
  const told = waits.filter(
    (record) => Number(record["queueMilliseconds"]) > 500 + noticeSeconds * 1000,
  ).length;
  const parsed = Object.values(printed).filter((text) => text === answer).length;
  const text = `${parsed} of 4 streams of the official Python clients are parsed, ${told} of which have waited`;
  recordFigure({ claim: "share 6", text, counted: { reached: parsed, needed: 4 } });
  expect(printed).toEqual({ openai: answer, responses: answer, anthropic: answer, ollama: answer });
  expect(told).toBeGreaterThan(0);
});
