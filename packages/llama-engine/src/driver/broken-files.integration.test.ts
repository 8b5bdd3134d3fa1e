import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { chooseSize, hasLooseTimingBounds, recordFigure, scale } from "@hearth-and-keep/figures";
import { inspectModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import {
  generateByteFlips,
  generateStructuralMutants,
  type Mutant,
  type SeedFile,
  writeModel,
} from "@hearth-and-keep/gguf/testing";
import {
  corpusModels,
  makeTemporaryFolder,
  preparePython,
  type TemporaryFolder,
  testModel,
} from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { type Outcome, type ReusedWorker, reuseWorker } from "./test/reused-worker.ts";
import { createSmallVocabularies, writeVocabulary } from "./test/small-vocabularies.ts";

const seed = 20_261_115;
const needed = chooseSize({ ci: 100, show: 1500, nightly: 10_000 });
const maxSeconds = hasLooseTimingBounds || scale === "nightly" ? 2400 : 240;
/** Each is printed: it shows a rule that validation still lacks. */
const maxMissed = scale === "nightly" ? needed / 1000 : 0;
const mebibyte = 1024 * 1024;
const limits = { timeoutMilliseconds: 10_000, maxBytes: 1024 * mebibyte };
const mutantsPerCheck = 100;

/**
 * Its vocabulary has no byte tokens. The binding tokenizes a sentence whenever it opens a file, and native code aborts
 * on a character that it cannot tokenize, so its mutants are opened in native code only.
 */
const withoutByteTokens = "long-vocabulary.gguf";

let corpus: readonly SeedFile[] = [];
let valid: SeedFile = { name: "", bytes: new Uint8Array() };
const vocabularies = createSmallVocabularies();

beforeAll(async () => {
  await preparePython();
  corpus = await Promise.all((await corpusModels()).map(readSeed));
  valid = await readSeed(await testModel("tiny-llama.gguf"));
}, 900_000);

async function readSeed(path: string): Promise<SeedFile> {
  return { name: basename(path), bytes: await readFile(path) };
}

/** A folder that the worker can read although it runs as another user. */
async function makeSharedFolder(): Promise<TemporaryFolder> {
  const folder = await makeTemporaryFolder("broken-files");
  await chmod(folder.path, 0o755);
  return folder;
}

type Context = { readonly folder: TemporaryFolder; readonly worker: ReusedWorker };

/** Keeps one file at a time, to limit disk usage. */
async function withFile<Result>(
  { folder }: Context,
  bytes: Uint8Array,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const path = join(folder.path, "model.gguf");
  await writeFile(path, bytes);
  try {
    return await use(path);
  } finally {
    await rm(path);
  }
}

async function openBothWays(context: Context, { bytes }: SeedFile): Promise<readonly Outcome[]> {
  return withFile(context, bytes, async (path) => [
    await context.worker.open(path, "native"),
    await context.worker.open(path, "binding"),
  ]);
}

async function passesValidation(path: string): Promise<boolean> {
  return inspectModelFile(path).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ModelFileError) return false;
      throw error;
    },
  );
}

test("every kind of valid vocabulary passes validation and opens, all in one worker", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, limits);
  const context = { folder, worker };
  for (const file of [...vocabularies, valid]) {
    expect(await withFile(context, file.bytes, passesValidation), file.name).toBe(true);
    expect(await openBothWays(context, file), file.name).toEqual(["opened", "opened"]);
  }
  expect(worker.countStarts()).toBe(1);
});

test("a file that crashes native code crashes only the worker, and validation rejects it", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, limits);
  const context = { folder, worker };
  const crashing = writeVocabulary({ model: "llama", tokens: ["<unk>", "<s>", "</s>", "same", "same"] });
  expect(await withFile(context, crashing, (path) => worker.open(path, "native"))).toBe("crashed");
  expect(await openBothWays(context, valid)).toEqual(["opened", "opened"]);
  expect(worker.countStarts()).toBe(2);
  expect(await withFile(context, crashing, passesValidation)).toBe(false);
});

test("a file that hangs the binding costs only the worker, and validation rejects it", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, { ...limits, timeoutMilliseconds: 5000 });
  const context = { folder, worker };
  const endless = writeModel({ entries: [{ key: "general.architecture", type: "string", value: "llama" }] });
  const keyCountAt = 16;
  endless.writeBigUInt64LE(2n ** 31n, keyCountAt);
  // Native code rejects it at once; the binding's own parser iterates over all keys.
  expect(await withFile(context, endless, (path) => worker.open(path, "native"))).toBe("rejected");
  expect(await withFile(context, endless, (path) => worker.open(path, "binding"))).toBe("hung");
  expect(await withFile(context, valid.bytes, (path) => worker.open(path, "native"))).toBe("opened");
  expect(worker.countStarts()).toBe(2);
  expect(await withFile(context, endless, passesValidation)).toBe(false);
});

test("a file that makes native code allocate more than the worker's limit is rejected", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, limits);
  const context = { folder, worker };
  const [small, large] = [2 ** 16, 2 ** 26].map((size) => withoutVocabulary(size));
  expect(await openNatively(context, small)).toBe("opened");
  expect(await openNatively(context, large)).toBe("rejected");
  expect(await openNatively(context, valid.bytes)).toBe("opened");
  expect(worker.countStarts()).toBe(1);
});

/** Without a vocabulary, native code allocates about 40 bytes for each token that the file declares. */
function withoutVocabulary(size: number): Uint8Array {
  const more = [{ key: "llama.vocab_size", type: "uint32", value: size }] as const;
  return writeVocabulary({ model: "none", tokens: ["a"], more });
}

async function openNatively(context: Context, bytes: Uint8Array = new Uint8Array()): Promise<Outcome> {
  return withFile(context, bytes, (path) => context.worker.open(path, "native"));
}

type Tally = {
  readonly outcomes: Map<string, number>;
  readonly families: Map<string, number>;
  /** Mutants that crashed or hung a worker. */
  fatal: number;
  /** Those of them that pass validation. */
  readonly missed: string[];
  total: number;
  validOpened: number;
};

test(
  `${needed} malformed files in native code never affect the server, and validation rejects each that crashes a worker`,
  async () => {
    await using folder = await makeSharedFolder();
    await using worker = reuseWorker(folder.path, limits);
    const context = { folder, worker };
    const tally: Tally = {
      outcomes: new Map(),
      families: new Map(),
      fatal: 0,
      missed: [],
      total: 0,
      validOpened: 0,
    };
    const startedAt = performance.now();
    for (const mutant of makeMutants()) {
      await tryMutant(context, mutant, tally);
      if (tally.total % mutantsPerCheck !== 0) continue;
      expect(await openBothWays(context, valid), `after ${tally.total} mutants`).toEqual([
        "opened",
        "opened",
      ]);
      tally.validOpened += 1;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const text = `${tally.total} of ${needed} mutants opened by native code without validation in ${seconds.toFixed(0)} s with ${worker.countStarts()} workers, seed ${seed}: ${tally.fatal} crashed or hung a worker, validation rejects ${tally.fatal - tally.missed.length} of these ${tally.fatal}; the valid file opened ${tally.validOpened} of ${needed / mutantsPerCheck} times between them`;
    process.stdout.write(
      `${text}\n${list(tally.families)}\n${list(tally.outcomes)}\n${tally.missed.join("\n")}\n`,
    );
    expect(tally.total).toBe(needed);
    expect(tally.validOpened).toBe(needed / mutantsPerCheck);
    expect(tally.fatal).toBeGreaterThan(needed / mutantsPerCheck);
    expect(worker.countStarts()).toBe(tally.fatal + 1);
    expect(tally.missed.length).toBeLessThanOrEqual(maxMissed);
    expect(seconds).toBeLessThan(maxSeconds);
    recordFigure({ claim: "engine 8", text, counted: { reached: tally.total, needed } });
  },
  (maxSeconds + 60) * 1000,
);

/** Half with flipped bytes, half with changed fields and truncations; half from the corpus, half from valid files. */
function* makeMutants(): Generator<Mutant> {
  for (const files of [[...corpus, valid], vocabularies]) {
    yield* generateByteFlips(files, { seed, count: needed / 4 });
    yield* generateStructuralMutants(files, { seed, count: needed / 4 });
  }
}

/** Files that fail validation never reach the binding, so only valid ones are opened through it. */
async function tryMutant(context: Context, mutant: Mutant, tally: Tally): Promise<void> {
  const { worker } = context;
  const { isAccepted, outcomes } = await withFile(context, mutant.bytes, async (path) => {
    const accepted = await passesValidation(path);
    const native = await worker.open(path, "native");
    const usesBinding = accepted && !isFatal(native) && mutant.seedName !== withoutByteTokens;
    return {
      isAccepted: accepted,
      outcomes: usesBinding ? [native, await worker.open(path, "binding")] : [native],
    };
  });
  tally.total += 1;
  increment(tally.families, mutant.family);
  increment(tally.outcomes, `validation ${isAccepted ? "passed" : "failed"}: ${outcomes.join(", ")}`);
  if (!outcomes.some(isFatal)) return;
  tally.fatal += 1;
  if (isAccepted) tally.missed.push(`${mutant.seedName}: ${mutant.family}: ${mutant.change}`);
}

function isFatal(outcome: Outcome): boolean {
  return outcome === "crashed" || outcome === "hung";
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join("; ");
}
