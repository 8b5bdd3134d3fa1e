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
  generateByteFlips,
  generateStructuralMutants,
  generateTruncations,
  type Mutant,
  type SeedFile,
} from "./testing.ts";

type CheckResult = ModelFileErrorDetail["kind"] | "accepted";
type MutantStatistics = {
  readonly results: Map<CheckResult, number>;
  slowestMilliseconds: number;
  maxBytes: number;
  readonly startBytes: number;
};

const seed = 20_261_115;
const flips = chooseSize({ ci: 1000, show: 10_000, nightly: 100_000 });
const structural = chooseSize({ ci: 1000, show: 10_000, nightly: 100_000 });
const cutsPerFile = scale === "nightly" ? Number.POSITIVE_INFINITY : 400;
const testMilliseconds = scale === "nightly" ? 1_200_000 : 180_000;
const maxMilliseconds = 10_000;
const mebibyte = 1024 * 1024;
const memoryFamilies: ReadonlySet<string> = new Set(["size", "count", "offset"]);

let seeds: readonly SeedFile[] = [];

beforeAll(async () => {
  await preparePython();
  const paths = [...(await corpusModels()), await testModel("tiny-llama.gguf")];
  seeds = await Promise.all(
    paths.map(async (path) => ({ name: basename(path), bytes: await readFile(path) })),
  );
}, 900_000);

test("every valid file of the corpus and every real test model is accepted", async () => {
  const real = ["smollm2-135m-instruct-q4_1.gguf", "all-minilm-l6-v2-f32.gguf", "tiny-llama.gguf"] as const;
  const models = await Promise.all([...real, "tiny-projector.gguf" as const].map((name) => testModel(name)));
  const paths = [...(await corpusModels()), ...models];
  const accepted = await Promise.all(paths.map((path) => inspectModelFile(path)));
  expect(accepted).toHaveLength(22);
  const text = `${accepted.length} of ${paths.length} valid model files accepted`;
  recordFigure({ claim: "engine 8", text, counted: { reached: accepted.length, needed: 22 } });
});

test(
  "more than 99 of 100 mutants of a size, count or offset are rejected, and none exceeds the time and memory limits",
  async () => {
    await using folder = await makeTemporaryFolder("mutants");
    const statistics = createStatistics();
    const passed: Mutant[] = [];
    let memoryMutants = 0;
    let generated = 0;
    for (const mutant of generateStructuralMutants(seeds, { seed, count: structural })) {
      generated += 1;
      const result = checkMutant(mutant, statistics);
      if (!memoryFamilies.has(mutant.family)) continue;
      memoryMutants += 1;
      if (result === "accepted") passed.push(mutant);
    }
    // A mutant that llama.cpp's own reader also accepts is still a valid file and does not count.
    const undetected = await findUndetected(folder.path, passed);
    const broken = memoryMutants - passed.length + undetected.length;
    const rejected = broken - undetected.length;
    const text = `${generated} structural mutants, seed ${seed}: ${rejected} of ${broken} invalid sizes, counts and offsets rejected (${memoryMutants - broken} still valid for llama.cpp's reader), slowest ${statistics.slowestMilliseconds.toFixed(0)} ms`;
    process.stdout.write(
      `${text}\n${describeStatistics(statistics)}\n${undetected.map(describeMutant).slice(0, 20).join("\n")}\n`,
    );
    expect(generated).toBe(structural);
    expect(broken).toBeGreaterThan(structural / 5);
    expect(rejected / broken).toBeGreaterThan(0.99);
    expectHarmless(statistics);
    recordFigure({ claim: "engine 8", text, counted: { reached: generated, needed: structural } });
  },
  testMilliseconds,
);

test(
  "flipped bytes are rejected or harmless, and never crash the process",
  () => {
    const statistics = createStatistics();
    let generated = 0;
    for (const mutant of generateByteFlips(seeds, { seed, count: flips })) {
      generated += 1;
      checkMutant(mutant, statistics);
    }
    const rejected = generated - (statistics.results.get("accepted") ?? 0);
    const text = `${generated} byte flips, seed ${seed}: ${rejected} rejected, slowest ${statistics.slowestMilliseconds.toFixed(0)} ms`;
    process.stdout.write(`${text}\n${describeStatistics(statistics)}\n`);
    expect(generated).toBe(flips);
    expectHarmless(statistics);
    recordFigure({ claim: "engine 8", text, counted: { reached: generated, needed: flips } });
  },
  testMilliseconds,
);

test("a file truncated at any header field is rejected", () => {
  const statistics = createStatistics();
  let generated = 0;
  for (const file of seeds) {
    for (const mutant of generateTruncations(file, cutsPerFile)) {
      generated += 1;
      expect(checkMutant(mutant, statistics), describeMutant(mutant)).not.toBe("accepted");
    }
  }
  process.stdout.write(`${generated} of ${generated} truncations rejected\n`);
  expect(generated).toBeGreaterThan(2000);
});

test("a mutant on disk gets the same result as in memory", async () => {
  await using folder = await makeTemporaryFolder("mutants");
  const path = join(folder.path, "mutant.gguf");
  let compared = 0;
  for (const mutant of generateStructuralMutants(seeds, { seed: seed + 1, count: 300 })) {
    await writeFile(path, mutant.bytes);
    expect(await inspectModelFile(path).then(() => "accepted", kindOf), describeMutant(mutant)).toBe(
      checkMutant(mutant, createStatistics()),
    );
    compared += 1;
  }
  expect(compared).toBe(300);
});

test("the same seed generates the same mutants, another seed generates others", () => {
  expect(changesOf(7)).toEqual(changesOf(7));
  expect(changesOf(7)).not.toEqual(changesOf(8));
});

function changesOf(mutationSeed: number): readonly string[] {
  return [...generateStructuralMutants(seeds, { seed: mutationSeed, count: 50 })].map(describeMutant);
}

function checkMutant(mutant: Mutant, statistics: MutantStatistics): CheckResult {
  const start = performance.now();
  let result: CheckResult = "accepted";
  try {
    checkHeader(readHeader(mutant.bytes, mutant.bytes.length), "mutant.gguf");
  } catch (error) {
    result = kindOf(error);
  }
  statistics.slowestMilliseconds = Math.max(statistics.slowestMilliseconds, performance.now() - start);
  const count = statistics.results.get(result) ?? 0;
  statistics.results.set(result, count + 1);
  if (count % 50 === 0) statistics.maxBytes = Math.max(statistics.maxBytes, process.memoryUsage.rss());
  return result;
}

/** Any other error is a bug in the validation and fails the test. */
function kindOf(error: unknown): CheckResult {
  if (error instanceof ModelFileError) return error.detail.kind;
  throw error;
}

async function findUndetected(folder: string, passed: readonly Mutant[]): Promise<readonly Mutant[]> {
  await Promise.all(passed.map(({ bytes }, index) => writeFile(join(folder, nameOf(index)), bytes)));
  // Controls: the script must accept a valid file and reject an empty one.
  await copyFile(await testModel("tiny-llama.gguf"), join(folder, "valid"));
  await writeFile(join(folder, "empty"), "");
  const script = fileURLToPath(new URL("fixtures/query-llama-cpp.py", import.meta.url));
  // The fixture prints one result per file of the folder.
  const results = JSON.parse(await runPython(script, [folder])) as Readonly<Record<string, string>>;
  expect(results["valid"]).toBe("accepted");
  expect(results["empty"]).toBe("rejected");
  expect(Object.keys(results)).toHaveLength(passed.length + 2);
  return passed.filter((_, index) => results[nameOf(index)] !== "accepted");
}

function nameOf(index: number): string {
  return `${String(index).padStart(6, "0")}.gguf`;
}

function createStatistics(): MutantStatistics {
  const startBytes = process.memoryUsage.rss();
  return { results: new Map(), slowestMilliseconds: 0, maxBytes: startBytes, startBytes };
}

function expectHarmless(statistics: MutantStatistics): void {
  expect(statistics.slowestMilliseconds).toBeLessThan(maxMilliseconds);
  const largest = Math.max(...seeds.map(({ bytes }) => bytes.length));
  expect(statistics.maxBytes - statistics.startBytes).toBeLessThan(2 * largest + 256 * mebibyte);
}

function describeStatistics({ results, maxBytes, startBytes }: MutantStatistics): string {
  const counts = [...results].toSorted(([, first], [, second]) => second - first);
  const list = counts.map(([result, count]) => `${result} ${count}`).join(", ");
  return `${list}; at most ${((maxBytes - startBytes) / mebibyte).toFixed(0)} MB more in use`;
}

function describeMutant({ seedName, family, change }: Mutant): string {
  return `${seedName}: ${family}: ${change}`;
}
