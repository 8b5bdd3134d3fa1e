import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isJudgedLoosely, recordFigure, scale } from "@hearth-and-keep/figures";
import { inspectModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import {
  type Mutant,
  makeByteFlips,
  makeStructuralMutants,
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
import { makeSmallVocabularies, writeVocabulary } from "./test/small-vocabularies.ts";

const seed = 20_261_115;
const needed = scale === "nightly" ? 10_000 : 1500;
const mostSeconds = isJudgedLoosely || scale === "nightly" ? 2400 : 240;
/** Each is printed: it names a rule that the gate still lacks. */
const mostMissed = scale === "nightly" ? needed / 1000 : 0;
const mebibyte = 1024 * 1024;
const limits = { silentMilliseconds: 10_000, mostBytes: 1024 * mebibyte };
const filesBetweenSoundOnes = 100;

/**
 * Its sentence pieces have no tokens for bytes. The binding splits a sentence into tokens whenever it opens a
 * file, and native code ends the process at a character it cannot spell, so its mutants go to native code only.
 */
const unspeakable = "long-vocabulary.gguf";

let corpus: readonly SeedFile[] = [];
let sound: SeedFile = { name: "", bytes: new Uint8Array() };
const vocabularies = makeSmallVocabularies();

beforeAll(async () => {
  await preparePython();
  corpus = await Promise.all((await corpusModels()).map(readSeed));
  sound = await readSeed(await testModel("tiny-llama.gguf"));
}, 900_000);

async function readSeed(path: string): Promise<SeedFile> {
  return { name: basename(path), bytes: await readFile(path) };
}

/** A folder the worker may read, though it runs as another user. */
async function makeSharedFolder(): Promise<TemporaryFolder> {
  const folder = await makeTemporaryFolder("broken-files");
  await chmod(folder.path, 0o755);
  return folder;
}

type Bench = { readonly folder: TemporaryFolder; readonly worker: ReusedWorker };

/** Holds one file at a time, so that disk use stays small. */
async function withFile<Result>(
  { folder }: Bench,
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

async function openBothWays(bench: Bench, { bytes }: SeedFile): Promise<readonly Outcome[]> {
  return withFile(bench, bytes, async (path) => [
    await bench.worker.open(path, "native"),
    await bench.worker.open(path, "binding"),
  ]);
}

async function isLetThrough(path: string): Promise<boolean> {
  return inspectModelFile(path).then(
    () => true,
    (problem: unknown) => {
      if (problem instanceof ModelFileError) return false;
      throw problem;
    },
  );
}

test("every kind of sound vocabulary passes the gate and opens, all in one worker", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, limits);
  const bench = { folder, worker };
  for (const file of [...vocabularies, sound]) {
    expect(await withFile(bench, file.bytes, isLetThrough), file.name).toBe(true);
    expect(await openBothWays(bench, file), file.name).toEqual(["opened", "opened"]);
  }
  expect(worker.countStarts()).toBe(1);
});

test("a file that kills the worker costs only the worker, and the gate refuses it", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, limits);
  const bench = { folder, worker };
  const killer = writeVocabulary({ model: "llama", tokens: ["<unk>", "<s>", "</s>", "same", "same"] });
  expect(await withFile(bench, killer, (path) => worker.open(path, "native"))).toBe("died");
  expect(await openBothWays(bench, sound)).toEqual(["opened", "opened"]);
  expect(worker.countStarts()).toBe(2);
  expect(await withFile(bench, killer, isLetThrough)).toBe(false);
});

test("a file over which the worker falls silent costs only the worker, and the gate refuses it", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, { ...limits, silentMilliseconds: 5000 });
  const bench = { folder, worker };
  const endless = writeModel({ entries: [{ key: "general.architecture", type: "string", value: "llama" }] });
  const keyCountAt = 16;
  endless.writeBigUInt64LE(2n ** 31n, keyCountAt);
  // Native code refuses it at once; the binding's own reader counts through all of the keys.
  expect(await withFile(bench, endless, (path) => worker.open(path, "native"))).toBe("refused");
  expect(await withFile(bench, endless, (path) => worker.open(path, "binding"))).toBe("hung");
  expect(await withFile(bench, sound.bytes, (path) => worker.open(path, "native"))).toBe("opened");
  expect(worker.countStarts()).toBe(2);
  expect(await withFile(bench, endless, isLetThrough)).toBe(false);
});

test("a file that makes native code ask for more memory than the worker may have is refused", async () => {
  await using folder = await makeSharedFolder();
  await using worker = reuseWorker(folder.path, limits);
  const bench = { folder, worker };
  const [small, large] = [2 ** 16, 2 ** 26].map((size) => withoutVocabulary(size));
  expect(await openNatively(bench, small)).toBe("opened");
  expect(await openNatively(bench, large)).toBe("refused");
  expect(await openNatively(bench, sound.bytes)).toBe("opened");
  expect(worker.countStarts()).toBe(1);
});

/** Without a vocabulary, native code makes room for as many tokens as the file says, about 40 bytes for each. */
function withoutVocabulary(size: number): Uint8Array {
  const more = [{ key: "llama.vocab_size", type: "uint32", value: size }] as const;
  return writeVocabulary({ model: "none", tokens: ["a"], more });
}

async function openNatively(bench: Bench, bytes: Uint8Array = new Uint8Array()): Promise<Outcome> {
  return withFile(bench, bytes, (path) => bench.worker.open(path, "native"));
}

type Tally = {
  readonly outcomes: Map<string, number>;
  readonly families: Map<string, number>;
  /** Mutants that ended a worker. */
  ended: number;
  /** Those of them that the gate lets through. */
  readonly missed: string[];
  made: number;
  soundOpened: number;
};

test(
  `${needed} broken files in native code never harm the parent, and the gate stops each that ends a worker`,
  async () => {
    await using folder = await makeSharedFolder();
    await using worker = reuseWorker(folder.path, limits);
    const bench = { folder, worker };
    const tally: Tally = {
      outcomes: new Map(),
      families: new Map(),
      ended: 0,
      missed: [],
      made: 0,
      soundOpened: 0,
    };
    const startedAt = performance.now();
    for (const mutant of makeMutants()) {
      await tryMutant(bench, mutant, tally);
      if (tally.made % filesBetweenSoundOnes !== 0) continue;
      expect(await openBothWays(bench, sound), `after ${tally.made} mutants`).toEqual(["opened", "opened"]);
      tally.soundOpened += 1;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const text = `${tally.made} of ${needed} mutants opened by native code without the gate in ${seconds.toFixed(0)} s with ${worker.countStarts()} workers, seed ${seed}: ${tally.ended} ended a worker, the gate refuses ${tally.ended - tally.missed.length} of these ${tally.ended}; the sound file opened ${tally.soundOpened} of ${needed / filesBetweenSoundOnes} times between them`;
    process.stdout.write(
      `${text}\n${list(tally.families)}\n${list(tally.outcomes)}\n${tally.missed.join("\n")}\n`,
    );
    expect(tally.made).toBe(needed);
    expect(tally.soundOpened).toBe(needed / filesBetweenSoundOnes);
    expect(tally.ended).toBeGreaterThan(needed / filesBetweenSoundOnes);
    expect(worker.countStarts()).toBe(tally.ended + 1);
    expect(tally.missed.length).toBeLessThanOrEqual(mostMissed);
    expect(seconds).toBeLessThan(mostSeconds);
    recordFigure({ claim: "engine 8", text, counted: { reached: tally.made, needed } });
  },
  (mostSeconds + 60) * 1000,
);

/** Half of them flipped bytes, half changed fields and cuts; half of the corpus, half of files that open. */
function* makeMutants(): Generator<Mutant> {
  for (const files of [[...corpus, sound], vocabularies]) {
    yield* makeByteFlips(files, { seed, count: needed / 4 });
    yield* makeStructuralMutants(files, { seed, count: needed / 4 });
  }
}

/** What the gate refuses never gets to the binding, so only what it lets through is opened that way as well. */
async function tryMutant(bench: Bench, mutant: Mutant, tally: Tally): Promise<void> {
  const { worker } = bench;
  const { isAccepted, outcomes } = await withFile(bench, mutant.bytes, async (path) => {
    const accepted = await isLetThrough(path);
    const native = await worker.open(path, "native");
    const goesOn = accepted && !hasEnded(native) && mutant.seedName !== unspeakable;
    return {
      isAccepted: accepted,
      outcomes: goesOn ? [native, await worker.open(path, "binding")] : [native],
    };
  });
  tally.made += 1;
  increase(tally.families, mutant.family);
  increase(tally.outcomes, `${isAccepted ? "accepted" : "refused"} by the gate: ${outcomes.join(", ")}`);
  if (!outcomes.some(hasEnded)) return;
  tally.ended += 1;
  if (isAccepted) tally.missed.push(`${mutant.seedName}: ${mutant.family}: ${mutant.change}`);
}

function hasEnded(outcome: Outcome): boolean {
  return outcome === "died" || outcome === "hung";
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join("; ");
}
