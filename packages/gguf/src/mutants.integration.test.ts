import { copyFile, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import {
  corpusModels,
  makeTemporaryFolder,
  preparePython,
  runPython,
  testModel,
} from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { checkHeader, inspectModelFile } from "./inspect-model-file.ts";
import { ModelFileError, type ModelFileErrorDetail } from "./model-file-error.ts";
import { readHeader } from "./reading/read-header.ts";
import {
  type Mutant,
  generateByteFlips,
  generateStructuralMutants,
  generateTruncations,
  type SeedFile,
} from "./testing.ts";

type Verdict = ModelFileErrorDetail["kind"] | "accepted";
type Tally = {
  readonly verdicts: Map<Verdict, number>;
  slowestMilliseconds: number;
  mostBytes: number;
  readonly startBytes: number;
};

const seed = 20_261_115;
const flips = chooseSize({ ci: 3000, show: 10_000, nightly: 100_000 });
const structural = chooseSize({ ci: 3000, show: 10_000, nightly: 100_000 });
const cutsPerFile = chooseSize({ ci: 100, show: 400, nightly: Number.POSITIVE_INFINITY });
const longestTest = scale === "nightly" ? 1_200_000 : 180_000;
const mostMilliseconds = 10_000;
const mebibyte = 1024 * 1024;
const steering: ReadonlySet<string> = new Set(["size", "count", "offset"]);

let seeds: readonly SeedFile[] = [];

beforeAll(async () => {
  await preparePython();
  const paths = [...(await corpusModels()), await testModel("tiny-llama.gguf")];
  seeds = await Promise.all(
    paths.map(async (path) => ({ name: basename(path), bytes: await readFile(path) })),
  );
}, 900_000);

test("every unbroken file of the corpus and every real test model is accepted", async () => {
  const real = ["smollm2-135m-instruct-q4_1.gguf", "all-minilm-l6-v2-f32.gguf", "tiny-llama.gguf"] as const;
  const models = await Promise.all([...real, "tiny-projector.gguf" as const].map((name) => testModel(name)));
  const paths = [...(await corpusModels()), ...models];
  const accepted = await Promise.all(paths.map((path) => inspectModelFile(path)));
  expect(accepted).toHaveLength(22);
  const text = `${accepted.length} of ${paths.length} unbroken model files accepted`;
  recordFigure({ claim: "engine 8", text, counted: { reached: accepted.length, needed: 22 } });
});

test(
  "more than 99 of 100 mutants of a size, a count or an offset are refused, and no mutant does harm",
  async () => {
    await using folder = await makeTemporaryFolder("mutants");
    const tally = startTally();
    const passed: Mutant[] = [];
    let steered = 0;
    let made = 0;
    for (const mutant of generateStructuralMutants(seeds, { seed, count: structural })) {
      made += 1;
      const verdict = judge(mutant, tally);
      if (!steering.has(mutant.family)) continue;
      steered += 1;
      if (verdict === "accepted") passed.push(mutant);
    }
    // A mutant that llama.cpp's own reader takes as well is still a legal file, and is left out of the count.
    const missed = await missedMutants(folder.path, passed);
    const broken = steered - passed.length + missed.length;
    const refused = broken - missed.length;
    const text = `${made} structural mutants, seed ${seed}: ${refused} of ${broken} broken sizes, counts and offsets refused (${steered - broken} still legal by llama.cpp's reader), slowest ${tally.slowestMilliseconds.toFixed(0)} ms`;
    process.stdout.write(
      `${text}\n${describeTally(tally)}\n${missed.map(describeMutant).slice(0, 20).join("\n")}\n`,
    );
    expect(made).toBe(structural);
    expect(broken).toBeGreaterThan(structural / 5);
    expect(refused / broken).toBeGreaterThan(0.99);
    expectHarmless(tally);
    recordFigure({ claim: "engine 8", text, counted: { reached: made, needed: structural } });
  },
  longestTest,
);

test(
  "flipped bytes are refused or harmless, and never end the process",
  () => {
    const tally = startTally();
    let made = 0;
    for (const mutant of generateByteFlips(seeds, { seed, count: flips })) {
      made += 1;
      judge(mutant, tally);
    }
    const refused = made - (tally.verdicts.get("accepted") ?? 0);
    const text = `${made} byte flips, seed ${seed}: ${refused} refused, slowest ${tally.slowestMilliseconds.toFixed(0)} ms`;
    process.stdout.write(`${text}\n${describeTally(tally)}\n`);
    expect(made).toBe(flips);
    expectHarmless(tally);
    recordFigure({ claim: "engine 8", text, counted: { reached: made, needed: flips } });
  },
  longestTest,
);

test("a file cut at any field of its header is refused", () => {
  const tally = startTally();
  let made = 0;
  for (const file of seeds) {
    for (const mutant of generateTruncations(file, cutsPerFile)) {
      made += 1;
      expect(judge(mutant, tally), describeMutant(mutant)).not.toBe("accepted");
    }
  }
  process.stdout.write(`${made} of ${made} truncations refused\n`);
  expect(made).toBeGreaterThan(2000);
});

test("a mutant in a file gets the same verdict as in memory", async () => {
  await using folder = await makeTemporaryFolder("mutants");
  const path = join(folder.path, "mutant.gguf");
  let compared = 0;
  for (const mutant of generateStructuralMutants(seeds, { seed: seed + 1, count: 300 })) {
    await writeFile(path, mutant.bytes);
    expect(await inspectModelFile(path).then(() => "accepted", kindOf), describeMutant(mutant)).toBe(
      judge(mutant, startTally()),
    );
    compared += 1;
  }
  expect(compared).toBe(300);
});

test("the same seed makes the same mutants, another seed makes others", () => {
  expect(changesOf(7)).toEqual(changesOf(7));
  expect(changesOf(7)).not.toEqual(changesOf(8));
});

function changesOf(chosen: number): readonly string[] {
  return [...generateStructuralMutants(seeds, { seed: chosen, count: 50 })].map(describeMutant);
}

function judge(mutant: Mutant, tally: Tally): Verdict {
  const start = performance.now();
  let verdict: Verdict = "accepted";
  try {
    checkHeader(readHeader(mutant.bytes, mutant.bytes.length), "mutant.gguf");
  } catch (problem) {
    verdict = kindOf(problem);
  }
  tally.slowestMilliseconds = Math.max(tally.slowestMilliseconds, performance.now() - start);
  const count = tally.verdicts.get(verdict) ?? 0;
  tally.verdicts.set(verdict, count + 1);
  if (count % 50 === 0) tally.mostBytes = Math.max(tally.mostBytes, process.memoryUsage.rss());
  return verdict;
}

/** Anything but a refusal is a defect of the gate, and ends the test. */
function kindOf(problem: unknown): Verdict {
  if (problem instanceof ModelFileError) return problem.detail.kind;
  throw problem;
}

async function missedMutants(folder: string, passed: readonly Mutant[]): Promise<readonly Mutant[]> {
  await Promise.all(passed.map(({ bytes }, index) => writeFile(join(folder, nameOf(index)), bytes)));
  // The judge must be able to say both: it accepts an unbroken file and refuses an empty one.
  await copyFile(await testModel("tiny-llama.gguf"), join(folder, "unbroken"));
  await writeFile(join(folder, "empty"), "");
  const script = fileURLToPath(new URL("fixtures/ask-llama-cpp.py", import.meta.url));
  // The fixture prints one verdict for each file of the folder.
  const verdicts = JSON.parse(await runPython(script, [folder])) as Readonly<Record<string, string>>;
  expect(verdicts["unbroken"]).toBe("accepted");
  expect(verdicts["empty"]).toBe("refused");
  expect(Object.keys(verdicts)).toHaveLength(passed.length + 2);
  return passed.filter((_, index) => verdicts[nameOf(index)] !== "accepted");
}

function nameOf(index: number): string {
  return `${String(index).padStart(6, "0")}.gguf`;
}

function startTally(): Tally {
  const startBytes = process.memoryUsage.rss();
  return { verdicts: new Map(), slowestMilliseconds: 0, mostBytes: startBytes, startBytes };
}

function expectHarmless(tally: Tally): void {
  expect(tally.slowestMilliseconds).toBeLessThan(mostMilliseconds);
  const largest = Math.max(...seeds.map(({ bytes }) => bytes.length));
  expect(tally.mostBytes - tally.startBytes).toBeLessThan(2 * largest + 256 * mebibyte);
}

function describeTally({ verdicts, mostBytes, startBytes }: Tally): string {
  const counts = [...verdicts].toSorted(([, first], [, second]) => second - first);
  const list = counts.map(([verdict, count]) => `${verdict} ${count}`).join(", ");
  return `${list}; at most ${((mostBytes - startBytes) / mebibyte).toFixed(0)} MB more in use`;
}

function describeMutant({ seedName, family, change }: Mutant): string {
  return `${seedName}: ${family}: ${change}`;
}
