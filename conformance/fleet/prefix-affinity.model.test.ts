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
/** Callers talk about a text of their own: about 450 tokens, behind which questions and answers are short. */
const documentWords = 110;
/** So that all conversations find room in the engines together, and not in each of them. */
const slots = 16;

type Message = { readonly role: "user" | "assistant"; readonly content: string };
type Tokens = { readonly prompt: number; readonly cached: number };

test("a conversation goes where its prefix is cached", { timeout: 300_000 }, async () => {
  const model = await testModel("tiny-llama.gguf");
  await using stack = new AsyncDisposableStack();
  const starting = Array.from({ length: engineCount }, () =>
    startLlamaServer({ model, parallelSlots: slots, contextTokens: 2048, cacheMegabytes: 0 }),
  );
  const engines = (await Promise.all(starting)).map((engine) => stack.use(engine));
  const inTurn = await shareCached("in turn", engines, askInTurn());
  const ours = await shareCached("ours", engines);
  const ratio = ours / inTurn;
  expect(ours).toBeGreaterThanOrEqual(0.8);
  expect(ratio).toBeGreaterThanOrEqual(2);
  recordFigure({
    claim: "engines 7",
    text: `${(100 * ours).toFixed(0)} % of prompt tokens were cached, ${(100 * inTurn).toFixed(0)} % with engines asked in turn: ${ratio.toFixed(1)}×; ${conversationCount} conversations of ${turnCount} turns over ${engineCount} engines`,
    counted: { reached: conversationCount * turnCount, needed: 240 },
  });
});

/** One engine after the other, whatever they have read. */
function askInTurn(): Choose {
  let next = 0;
  return (candidates) => {
    const inOrder = candidates.toSorted((one, other) => (one.label < other.label ? -1 : 1));
    next += 1;
    return inOrder[next % inOrder.length];
  };
}

/** Of all tokens of all prompts, those that an engine still had. */
async function shareCached(name: string, engines: readonly LlamaServer[], choose?: Choose): Promise<number> {
  const remote = await readModels(
    `[models.many]\ndialect = "llama-server"\nrequests_per_engine = ${slots}\naddresses = [${engines.map(({ url }) => JSON.stringify(url)).join(", ")}]\n`,
  );
  await using server = await startTestServer({ models: {}, remote, ...(choose && { choose }) });
  const conversations = Array.from({ length: conversationCount }, (): Message[] => []);
  const all: Tokens[] = [];
  for (let turn = 0; turn < turnCount; turn += 1) {
    // Callers come in no order: otherwise asking in turn would bring each to its engine by chance.
    const waiting = shuffle([...conversations.entries()], turn);
    const work = Array.from({ length: atOnce }, async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [index, messages] = next;
        const words =
          turn > 0
            ? []
            : Array.from({ length: documentWords }, (_, word) => `${(index * 7919 + word * 31) % 997}`);
        all.push(await takeTurn(server, messages, [...words, `${name} ${index}: and ${turn}?`].join(" ")));
      }
    });
    await Promise.all(work);
  }
  const sum = (of: (tokens: Tokens) => number): number => all.reduce((total, each) => total + of(each), 0);
  return sum(({ cached }) => cached) / sum(({ prompt }) => prompt);
}

async function takeTurn({ url }: TestServer, messages: Message[], question: string): Promise<Tokens> {
  messages.push({ role: "user", content: question });
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "many", messages, max_tokens: 4 }),
  });
  if (response.status !== 200) throw new Error(await response.text());
  // The shape is that of the family's own documentation.
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
