import type { Engine, EngineRequest, GenerationEnd } from "@hearth-and-keep/engine";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshPartition, greedy, loadSmolLm, never, turn } from "./engine-under-test.ts";
import { compareInTurns, lowerBound, sized } from "./rounds.ts";

const min = { rewriting: 1.3, anywhere: 0.97 };
const maxTokens = sized(240, 24);
const turns = sized(3, 1);

const code = `export function sumPrices(items: readonly Item[], taxRate: number): number {
  let total = 0;
  for (const item of items) {
    if (item.quantity <= 0) continue;
    total += item.price * item.quantity;
  }
  return total * (1 + taxRate);
}

export function findCheapest(items: readonly Item[]): Item | undefined {
  let cheapest: Item | undefined;
  for (const item of items) {
    if (cheapest === undefined || item.price < cheapest.price) cheapest = item;
  }
  return cheapest;
}

export function formatItem(item: Item): string {
  return item.name + ": " + item.quantity + " x " + item.price.toFixed(2);
}
`;

/** The assistant's turn begins with the first words of code and JSON: the test model would rather talk about them. */
const prompts = {
  "code rewriting": `${turn(
    `Rewrite this code. Change nothing except the name of the function sumPrices, which becomes addPrices.\n\n\`\`\`ts\n${code}\`\`\``,
  )}\`\`\`ts\nexport function addPrices(`,
  prose: turn("Explain why the sky is blue and sunsets are red, in your own words."),
  JSON: `${turn(
    'Write a JSON array of eight invented books with the keys "title", "author", "year" and "pages".',
  )}\`\`\`json\n[\n  {\n    "title": "`,
} as const;

type Kind = keyof typeof prompts;

type Output = { readonly text: string; readonly end: GenerationEnd };

async function run(engine: Engine, request: EngineRequest): Promise<Output> {
  let text = "";
  for await (const event of engine.generate(request, never)) {
    if (event.type === "text-delta") text += event.text;
    if (event.type === "generation-end") return { text, end: event };
  }
  throw new Error("Cannot find the end of the output");
}

let guessing: Engine;
let plain: Engine;
beforeAll(async () => {
  [guessing, plain] = [await loadSmolLm({ speculation: "auto" }), await loadSmolLm()];
}, 120_000);
afterAll(async () => {
  await guessing.unload();
  await plain.unload();
});

/** Measures tokens per second after the first token, with and without guesses, and collects the texts of both. */
async function compareSpeed(kind: Kind, temperature: number) {
  const texts = new Map<Engine, Set<string>>([
    [guessing, new Set()],
    [plain, new Set()],
  ]);
  const guesses = { guessed: 0, accepted: 0 };
  const measure = async (engine: Engine): Promise<number> => {
    const request = greedy(prompts[kind], { maxTokens, cachePartition: freshPartition() });
    const sampling = { ...request.sampling, temperature, seed: 42 };
    const { text, end } = await run(engine, { ...request, sampling });
    texts.get(engine)?.add(text);
    guesses.guessed += end.usage.guessedTokens ?? 0;
    guesses.accepted += end.usage.acceptedTokens ?? 0;
    return (end.usage.outputTokens * 1000) / end.timings.outputMilliseconds;
  };
  const comparison = await compareInTurns({
    name: `speculation-${kind.replace(" ", "-")}-${temperature}`,
    ours: { name: "with guesses", measure: () => measure(guessing) },
    theirs: { name: "without", measure: () => measure(plain) },
    turns,
  });
  return { ...comparison, ...guesses, texts: [...texts.values()].map((each) => [...each]) };
}

// At temperature 0 the test model soon repeats itself in JSON. Sampled, it does not, and fewer guesses are right.
const cases: readonly (readonly [Kind, number])[] = [
  ["code rewriting", 0],
  ["prose", 0],
  ["JSON", 0],
  ["code rewriting", 0.8],
  ["prose", 0.8],
  ["JSON", 0.8],
];

test.each(cases.slice(0, sized(cases.length, 2)))(
  "guesses make %s at temperature %d no slower, and change no word of it",
  { timeout: 600_000 },
  async (kind, temperature) => {
    const { ratio, medians, guessed, accepted, texts } = await compareSpeed(kind, temperature);
    const needed = kind === "code rewriting" && temperature === 0 ? min.rewriting : min.anywhere;
    const [ours = [], theirs = []] = texts;
    const isEqual = ours.length === 1 && theirs.length === 1 && ours[0] === theirs[0];
    recordFigure({
      claim: "lean 9",
      text: `${kind} at temperature ${temperature}: ${ratio.toFixed(2)} of the speed without guesses, needed ${needed} or more: ${medians[0].toFixed(1)} against ${medians[1].toFixed(1)} tokens/s, ${accepted} of ${guessed} guessed tokens accepted, texts ${isEqual ? "equal" : "differ"}`,
    });
    expect(isEqual).toBe(true);
    expect(ratio).toBeGreaterThanOrEqual(lowerBound(needed));
  },
);
