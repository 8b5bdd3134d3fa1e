import { recordFigure } from "@hearth-and-keep/figures";
import { type LlamaServer, startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import type { Choose } from "@hearth-and-keep/upstream-engine";
import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { readModels } from "./remote-model.ts";

const engineCount = 4;
const conversationCount = 40;
const turnCount = 6;
const atOnce = 4;
/** Each conversation starts with its own document of about 450 tokens; the messages after it are short. */
const documentWords = 110;
/** The conversations fit into all engines together, but not into a single one. */
const slots = 16;

type Message = { readonly role: "user" | "assistant"; readonly content: string };
type Tokens = { readonly prompt: number; readonly cached: number };

test("a conversation is sent to the engine that has its prefix cached", { timeout: 300_000 }, async () => {
  const model = await testModel("tiny-llama.gguf");
  await using stack = new AsyncDisposableStack();
  const starting = Array.from({ length: engineCount }, () =>
    startLlamaServer({ model, parallelSlots: slots, contextTokens: 2048, cacheMegabytes: 0 }),
  );
  const engines = (await Promise.all(starting)).map((engine) => stack.use(engine));
  const baseline = await shareCached("in turn", engines, roundRobin());
  const ours = await shareCached("ours", engines);
  const ratio = ours / baseline;
  expect(ours).toBeGreaterThanOrEqual(0.8);
  expect(ratio).toBeGreaterThanOrEqual(2);
  recordFigure({
    claim: "engines 7",
    text: `${(100 * ours).toFixed(0)} % of prompt tokens were cached, ${(100 * baseline).toFixed(0)} % with round robin: ${ratio.toFixed(1)}×; ${conversationCount} conversations of ${turnCount} turns over ${engineCount} engines`,
    counted: { reached: conversationCount * turnCount, needed: 240 },
  });
});

/** Round robin, regardless of what the engines have cached. */
function roundRobin(): Choose {
  let next = 0;
  return (candidates) => {
    const inOrder = candidates.toSorted((one, other) => (one.label < other.label ? -1 : 1));
    next += 1;
    return inOrder[next % inOrder.length];
  };
}

/** The share of all prompt tokens that were cached. */
async function shareCached(name: string, engines: readonly LlamaServer[], choose?: Choose): Promise<number> {
  const remote = await readModels(
    `[models.many]\ndialect = "llama-server"\nrequests_per_engine = ${slots}\naddresses = [${engines.map(({ url }) => JSON.stringify(url)).join(", ")}]\n`,
  );
  await using server = await startTestServer({ models: {}, remote, ...(choose && { choose }) });
  const conversations = Array.from({ length: conversationCount }, (): Message[] => []);
  const all: Tokens[] = [];
  for (let turn = 0; turn < turnCount; turn += 1) {
    // In random order: otherwise round robin could return each conversation to its engine by chance.
    const remaining = shuffle([...conversations.entries()], turn);
    const work = Array.from({ length: atOnce }, async () => {
      for (let next = remaining.pop(); next !== undefined; next = remaining.pop()) {
        const [index, messages] = next;
        const words =
          turn > 0
            ? []
            : Array.from({ length: documentWords }, (_, word) => `${(index * 7919 + word * 31) % 997}`);
        all.push(await sendTurn(server, messages, [...words, `${name} ${index}: and ${turn}?`].join(" ")));
      }
    });
    await Promise.all(work);
  }
  const sum = (of: (tokens: Tokens) => number): number => all.reduce((total, each) => total + of(each), 0);
  return sum(({ cached }) => cached) / sum(({ prompt }) => prompt);
}

async function sendTurn({ url }: TestServer, messages: Message[], content: string): Promise<Tokens> {
  messages.push({ role: "user", content });
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "many", messages, max_tokens: 4 }),
  });
  if (response.status !== 200) throw new Error(await response.text());
  // The format is documented by OpenAI.
  const { choices, usage } = (await response.json()) as {
    choices: { message: { content: string } }[];
    usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  };
  messages.push({ role: "assistant", content: choices[0]?.message.content ?? "" });
  return { prompt: usage.prompt_tokens, cached: usage.prompt_tokens_details.cached_tokens };
}

/** The same order for the same seed. */
function shuffle<Item>(items: Item[], seed: number): Item[] {
  let state = seed + 1;
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  return items
    .map((item) => ({ item, order: random() }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ item }) => item);
}
