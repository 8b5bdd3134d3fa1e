import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import type { SchedulingLimits } from "../apps/hearth/src/scheduling/limits.ts";
import { startTestServer, type TestServer, tiny } from "../apps/hearth/src/test/start-test-server.ts";

const trainedTokens = 16_384;

const isShort: boolean = chooseSize({ ci: true, show: false, nightly: false });

/** Thousands of tokens take minutes; with the fake engine, the unit tests of the lease cover the same. */
const longOutputs: readonly number[] = chooseSize({ ci: [], show: [4000], nightly: [4000] });

/** A prompt of the whole context takes half a minute. */
const maxPromptTokens: number = chooseSize({ ci: 3000, show: trainedTokens, nightly: trainedTokens });
const setTokens: number = chooseSize({ ci: 3000, show: 10_000, nightly: 10_000 });

type Json = Readonly<Record<string, unknown>>;

async function call({ url }: TestServer, path: string, body?: object): Promise<Json> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const response = await fetch(url + path, { ...init, headers });
  // All three APIs respond with objects.
  return { ...((await response.json()) as Json), status: response.status };
}

/** The same request in the three APIs. */
const families = {
  ollama: {
    path: "/api/chat",
    settings: { truncate: false, stream: false, options: { num_predict: 4, temperature: 0 } },
  },
  openai: { path: "/v1/chat/completions", settings: { max_tokens: 4, temperature: 0 } },
  anthropic: { path: "/alt/v1/messages", settings: { max_tokens: 4, temperature: 0 } },
} as const;

const sentFamilies = isShort ? (["anthropic"] as const) : (["ollama", "openai", "anthropic"] as const);

async function send(server: TestServer, family: keyof typeof families, words: number): Promise<Json> {
  const { path, settings } = families[family];
  const messages = [{ role: "user", content: "a ".repeat(words) }];
  return call(server, path, { model: "m", messages, ...settings });
}

/** Every number in which a server reports the context of the model. */
async function readAdvertised(server: TestServer): Promise<Readonly<Record<string, unknown>>> {
  const openai = await call(server, "/v1/models/m");
  const anthropic = await call(server, "/alt/v1/models/m");
  const shown = await call(server, "/api/show", { model: "m" });
  const tags = JSON.stringify(await call(server, "/api/tags"));
  const running = JSON.stringify(await call(server, "/api/ps"));
  const metadata = shown["model_info"] ?? {};
  return {
    "context_length of OpenAI": openai["context_length"],
    "max_model_len of OpenAI": openai["max_model_len"],
    "max_input_tokens of Anthropic": anthropic["max_input_tokens"],
    "context_length of the list": Number(/"context_length":(\d+)/.exec(tags)?.[1]),
    "context_length of running models": Number(/"context_length":(\d+)/.exec(running)?.[1]),
    // A model with all of its context has no such parameter.
    "num_ctx of show": Number(
      /num_ctx\s+(\d+)/.exec(String(shown["parameters"]))?.[1] ??
        Object.entries(metadata).find(([key]) => key.endsWith(".context_length"))?.[1],
    ),
  };
}

/** The number of "a " that has this many tokens with the template of the model. */
async function wordsFor(server: TestServer, tokens: number): Promise<number> {
  const count = async (words: number): Promise<number> => {
    const messages = [{ role: "user", content: "a ".repeat(words) }];
    const body = { model: "m", messages };
    return Number((await call(server, "/alt/v1/messages/count_tokens", body))["input_tokens"]);
  };
  const [few, many] = [await count(100), await count(1100)];
  return 100 + Math.floor(((tokens - few) * 1000) / (many - few));
}

const cases: readonly {
  readonly name: string;
  readonly limits: Partial<SchedulingLimits>;
  readonly window: number;
  readonly explanation: RegExp;
}[] = [
  {
    name: "by default",
    limits: { contextTokens: undefined },
    window: trainedTokens,
    explanation: /the model was not trained on more/,
  },
  {
    name: "with --context-length",
    limits: { contextTokens: setTokens },
    window: setTokens,
    explanation: /set by --context-length of the server/,
  },
];

test.each(cases)(
  "every API serves the context that it advertises $name, whatever was loaded before",
  async (each) => {
    await using server = await startTestServer({ models: { m: tiny }, limits: each.limits });
    // An earlier client that is content with less changes nothing.
    await call(server, "/api/generate", {
      model: "m",
      prompt: "a",
      stream: false,
      options: { num_ctx: 512, num_predict: 1 },
    });
    expect(server.scheduler.running()).toMatchObject([{ contextTokens: 512 }]);
    const advertised = await readAdvertised(server);
    expect(new Set(Object.values(advertised)), JSON.stringify(advertised)).toEqual(new Set([each.window]));
    const [fitting, tooMany] = [
      await wordsFor(server, Math.min(each.window, maxPromptTokens) - 100),
      await wordsFor(server, each.window + 100),
    ];
    let served = 0;
    for (const family of sentFamilies) {
      expect(await send(server, family, fitting)).toMatchObject({ status: 200 });
      const refused = await send(server, family, tooMany);
      expect(refused["status"]).toBe(400);
      expect(JSON.stringify(refused)).toMatch(each.explanation);
      served += 1;
    }
    const [loaded] = server.scheduler.running();
    expect(loaded?.contextTokens).toBeGreaterThanOrEqual(Math.min(each.window, maxPromptTokens));
    recordFigure({
      claim: "agents 4",
      text: `${each.name}, ${Object.keys(advertised).length} of 6 places advertise ${each.window} tokens, and ${served} of ${sentFamilies.length} APIs accept a prompt of ${Math.min(each.window, maxPromptTokens) - 100} and reject one of ${each.window + 100}`,
      counted: { reached: served, needed: sentFamilies.length },
    });
  },
  300_000,
);

test.each(longOutputs)(
  "a response of %i tokens goes on in a larger context",
  async (outputTokens) => {
    await using server = await startTestServer({ models: { m: tiny }, limits: { contextTokens: undefined } });
    const prompt = "a ".repeat(await wordsFor(server, 6100));
    const options = { num_predict: outputTokens, temperature: 0 };
    const body = { model: "m", prompt, raw: true, stream: false, options };
    const response = await call(server, "/api/generate", body);
    expect(response).toMatchObject({ status: 200, done_reason: "length", eval_count: outputTokens });
    expect(Number(response["prompt_eval_count"]) + outputTokens).toBeGreaterThan(8192);
    expect(server.scheduler.running()).toMatchObject([{ contextTokens: trainedTokens }]);
  },
  600_000,
);
