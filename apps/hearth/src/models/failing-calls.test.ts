import { execFile } from "node:child_process";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openModelStore } from "./store/model-store.ts";
import type { Attempt, AttemptOutcome } from "./test/change-store.ts";
import type { FaultKind } from "./test/file-calls.ts";
import { type LyingRegistry, startLyingRegistry } from "./test/malformed-registry.ts";
import { readSoundStore, type StoreState } from "./test/sound-store.ts";
import {
  type ChangeName,
  type Materials,
  type StoreChange,
  saveMaterials,
  storeChanges,
  writeTiny,
} from "./test/store-changes.ts";

const program = fileURLToPath(new URL("./test/change-store.ts", import.meta.url));
const run = promisify(execFile);
const verbs = ["create", "copy", "delete", "pull"] as const;
const leastPlaces = 60;
/** Calls that a full disk makes fail, and after which a death leaves something else than before. */
const changing =
  /^(?:open-new|write|writeFile|writev|sync|datasync|truncate|mkdir|rename|link|symlink|copyFile|rm|rmdir|unlink)$/u;

/** A change with the store it starts from, the calls it makes, and what is listed before and after it. */
type Rehearsal = {
  readonly change: ChangeName;
  readonly verb: StoreChange["verb"];
  readonly start: string;
  readonly calls: readonly string[];
  readonly before: StoreState;
  readonly after: StoreState;
};
type Place = { readonly rehearsal: Rehearsal; readonly call: number; readonly kind: FaultKind };

let folder: TemporaryFolder;
let registry: LyingRegistry;
let materials: Materials;
let stores = 0;
const rehearsals: Rehearsal[] = [];
const reached: Record<string, number> = {};

beforeAll(async () => {
  folder = await makeTemporaryFolder("failing-calls");
  const files = join(folder.path, "materials");
  await mkdir(files);
  registry = await startLyingRegistry({ weights: writeTiny(2) });
  materials = await saveMaterials(files, registry.host);
  for (const change of changeNames()) rehearsals.push(await rehearse(change));
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test.each(verbs)(
  "whichever file-system call fails or is the last of a process, %s leaves a sound store and can be tried again",
  { timeout: 3_600_000 },
  async (verb) => {
    const places = choosePlaces(rehearsals.filter((rehearsal) => rehearsal.verb === verb));
    const attempts: Attempt[] = [];
    for (const place of places) attempts.push(await prepare(place));
    const outcomes = await makeAll(attempts);
    let struck = 0;
    const unsound: string[] = [];
    for (const [index, place] of places.entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined && outcome.calls.length < place.call) continue;
      struck += 1;
      const problem = await judge(place, attempts[index]?.folder ?? "", outcome).catch(String);
      if (problem !== undefined) unsound.push(`${describe(place)}: ${problem}`);
    }
    expect(unsound).toEqual([]);
    reached[verb] = struck;
  },
);

test("and without a fault each change succeeds", () => {
  expect(Object.keys(reached)).toHaveLength(verbs.length);
  const counts = Object.entries(reached).map(([verb, count]) => `${verb} ${count}`);
  const count = Object.values(reached).reduce((sum, each) => sum + each, 0);
  recordFigure({
    claim: "store 7",
    text: `the store was sound after ${count} failed calls and deaths (${counts.join(", ")}) and after ${rehearsals.length} of ${rehearsals.length} changes without one`,
    counted: { reached: Math.min(...Object.values(reached)), needed: leastPlaces },
  });
});

function changeNames(): readonly ChangeName[] {
  // The keys of a constant of ours.
  return Object.keys(storeChanges) as ChangeName[];
}

async function rehearse(change: ChangeName): Promise<Rehearsal> {
  const { setUp, verb }: StoreChange = storeChanges[change];
  const start = newFolder();
  await setUp([await openModelStore(start, "own")], materials);
  const before = await readSoundStore(start);
  const attempt = { change, folder: newFolder() };
  await cp(start, attempt.folder, { recursive: true });
  const [outcome] = await makeAll([attempt]);
  expect(outcome).not.toHaveProperty("problem");
  const after = await readSoundStore(attempt.folder);
  expect(after).not.toEqual(before);
  return { change, verb, start, calls: outcome?.calls ?? [], before, after };
}

/** Every place when it is nightly or when there are few, else places at even distances. */
function choosePlaces(ofVerb: readonly Rehearsal[]): readonly Place[] {
  const all = ofVerb.flatMap((rehearsal) =>
    rehearsal.calls.map((name, index) => ({ rehearsal, call: index + 1, isChanging: changing.test(name) })),
  );
  const step = scale === "nightly" ? 1 : Math.max(1, Math.floor(all.length / leastPlaces));
  return all
    .filter((_, index) => index % step === 0)
    .flatMap(({ isChanging, ...place }) =>
      (isChanging ? kindsAt(place.call) : ["EIO" as const]).map((kind) => ({ ...place, kind })),
    );
}

/** A death costs a process, so in CI every second place has none, and the others one. */
function kindsAt(call: number): readonly FaultKind[] {
  if (scale === "nightly") return ["EIO", "ENOSPC", "die-before", "die-after"];
  if (call % 2 === 0) return ["EIO", "ENOSPC"];
  return ["EIO", "ENOSPC", call % 4 === 1 ? "die-before" : "die-after"];
}

async function prepare({ rehearsal, call, kind }: Place): Promise<Attempt> {
  const place = newFolder();
  await cp(rehearsal.start, place, { recursive: true });
  return { change: rehearsal.change, folder: place, fault: { call, kind } };
}

/** In one process after another; undefined where one died. */
async function makeAll(attempts: readonly Attempt[]): Promise<readonly (AttemptOutcome | undefined)[]> {
  const planFile = join(folder.path, "plan.json");
  await writeFile(planFile, JSON.stringify({ materials, attempts }));
  const outcomes: (AttemptOutcome | undefined)[] = [];
  while (outcomes.length < attempts.length) {
    const { stdout, hasDied } = await runProgram([program, planFile, String(outcomes.length)]);
    outcomes.push(...stdout.split("\n").slice(0, -1).map(readOutcome));
    if (hasDied) outcomes.push(undefined);
  }
  return outcomes;
}

function readOutcome(line: string): AttemptOutcome {
  // Written by our own program.
  return JSON.parse(line) as AttemptOutcome;
}

async function runProgram(words: readonly string[]): Promise<{ stdout: string; hasDied: boolean }> {
  try {
    const { stdout } = await run(process.execPath, [...words], { timeout: 600_000, killSignal: "SIGTERM" });
    return { stdout, hasDied: false };
  } catch (problem) {
    // What execFile rejects with.
    const { signal, stdout } = problem as { signal?: string; stdout?: string };
    if (signal !== "SIGKILL") throw problem;
    return { stdout: stdout ?? "", hasDied: true };
  }
}

/** Says what is wrong, if anything is. */
async function judge(
  { rehearsal, kind }: Place,
  place: string,
  outcome: AttemptOutcome | undefined,
): Promise<string | undefined> {
  const { before, after, change, verb } = rehearsal;
  const state = await readSoundStore(place);
  const isAfter = isSame(state, after);
  if (!isAfter && !isSame(state, before)) return `neither the old nor the new: ${JSON.stringify(state)}`;
  if (outcome?.problem === undefined && !kind.startsWith("die") && !isAfter) {
    return "it told of success and changed nothing";
  }
  if (verb === "delete" && isAfter) return undefined;
  const { run: again }: StoreChange = storeChanges[change];
  await again([await openModelStore(place, "own")], materials);
  return isSame(await readSoundStore(place), after) ? undefined : "the second try gave another result";
}

function isSame(one: StoreState, other: StoreState): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function describe({ rehearsal, call, kind }: Place): string {
  return `${rehearsal.change}, ${kind} at call ${call} (${rehearsal.calls[call - 1]})`;
}

function newFolder(): string {
  stores += 1;
  return join(folder.path, `store-${stores}`);
}
