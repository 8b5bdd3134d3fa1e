import { execFile } from "node:child_process";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openModelStore } from "./store/model-store.ts";
import type { Attempt, AttemptOutcome } from "./test/change-store.ts";
import type { FaultKind } from "./test/file-calls.ts";
import { type MalformedRegistry, startMalformedRegistry } from "./test/malformed-registry.ts";
import {
  type ChangeName,
  type Materials,
  type StoreChange,
  saveMaterials,
  storeChanges,
  writeTiny,
} from "./test/store-changes.ts";
import { readVerifiedStore, type StoreState } from "./test/verify-store.ts";

const program = fileURLToPath(new URL("./test/change-store.ts", import.meta.url));
const run = promisify(execFile);
const verbs = ["create", "copy", "delete", "pull"] as const;
const minFaults = chooseSize({ ci: 12, show: 60, nightly: 60 });
/** Calls that fail on a full disk, or that leave a different state when the process dies after them. */
const modifying =
  /^(?:open-new|write|writeFile|writev|sync|datasync|truncate|mkdir|rename|link|symlink|copyFile|rm|rmdir|unlink)$/u;

/** A change without faults: its initial store, the calls that it makes, and the state before and after. */
type Rehearsal = {
  readonly change: ChangeName;
  readonly verb: StoreChange["verb"];
  readonly start: string;
  readonly calls: readonly string[];
  readonly before: StoreState;
  readonly after: StoreState;
};
type Injection = { readonly rehearsal: Rehearsal; readonly call: number; readonly kind: FaultKind };

let folder: TemporaryFolder;
let registry: MalformedRegistry;
let materials: Materials;
let stores = 0;
const rehearsals: Rehearsal[] = [];
const reached: Record<string, number> = {};

beforeAll(async () => {
  folder = await makeTemporaryFolder("failing-calls");
  const files = join(folder.path, "materials");
  await mkdir(files);
  registry = await startMalformedRegistry({ weights: writeTiny(2) });
  materials = await saveMaterials(files, registry.host);
  for (const change of changeNames()) rehearsals.push(await rehearse(change));
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test.each(verbs)(
  "whichever file-system call fails or is a process's last, %s leaves a consistent store and can be retried",
  { timeout: 3_600_000 },
  async (verb) => {
    const injections = chooseInjections(rehearsals.filter((rehearsal) => rehearsal.verb === verb));
    const attempts: Attempt[] = [];
    for (const injection of injections) attempts.push(await prepare(injection));
    const outcomes = await runAll(attempts);
    let injected = 0;
    const violations: string[] = [];
    for (const [index, injection] of injections.entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined && outcome.calls.length < injection.call) continue;
      injected += 1;
      const violation = await findViolation(injection, attempts[index]?.folder ?? "", outcome).catch(String);
      if (violation !== undefined) violations.push(`${describe(injection)}: ${violation}`);
    }
    expect(violations).toEqual([]);
    reached[verb] = injected;
  },
);

test("without a fault each change succeeds", () => {
  expect(Object.keys(reached)).toHaveLength(verbs.length);
  const counts = Object.entries(reached).map(([verb, count]) => `${verb} ${count}`);
  const count = Object.values(reached).reduce((sum, each) => sum + each, 0);
  recordFigure({
    claim: "store 7",
    text: `the store was consistent after ${count} failed calls and kills (${counts.join(", ")}) and after ${rehearsals.length} of ${rehearsals.length} changes without faults`,
    counted: { reached: Math.min(...Object.values(reached)), needed: minFaults },
  });
});

function changeNames(): readonly ChangeName[] {
  // The keys of our own constant.
  return Object.keys(storeChanges) as ChangeName[];
}

async function rehearse(change: ChangeName): Promise<Rehearsal> {
  const { setUp, verb }: StoreChange = storeChanges[change];
  const start = newFolder();
  await setUp([await openModelStore(start, "own")], materials);
  const before = await readVerifiedStore(start);
  const attempt = { change, folder: newFolder() };
  await cp(start, attempt.folder, { recursive: true });
  const [outcome] = await runAll([attempt]);
  expect(outcome).not.toHaveProperty("error");
  const after = await readVerifiedStore(attempt.folder);
  expect(after).not.toEqual(before);
  return { change, verb, start, calls: outcome?.calls ?? [], before, after };
}

/** Every call in nightly runs or when there are few; otherwise calls at regular intervals. */
function chooseInjections(ofVerb: readonly Rehearsal[]): readonly Injection[] {
  const all = ofVerb.flatMap((rehearsal) =>
    rehearsal.calls.map((name, index) => ({ rehearsal, call: index + 1, isModifying: modifying.test(name) })),
  );
  const step = scale === "nightly" ? 1 : Math.max(1, Math.floor(all.length / minFaults));
  return all
    .filter((_, index) => index % step === 0)
    .flatMap(({ isModifying, ...target }) =>
      (isModifying ? kindsAt(target.call) : ["EIO" as const]).map((kind) => ({ ...target, kind })),
    );
}

/** Killing costs a new process, so in CI only every second call is killed, and only once. */
function kindsAt(call: number): readonly FaultKind[] {
  if (scale === "nightly") return ["EIO", "ENOSPC", "die-before", "die-after"];
  if (call % 2 === 0) return ["EIO", "ENOSPC"];
  return ["EIO", "ENOSPC", call % 4 === 1 ? "die-before" : "die-after"];
}

async function prepare({ rehearsal, call, kind }: Injection): Promise<Attempt> {
  const copy = newFolder();
  await cp(rehearsal.start, copy, { recursive: true });
  return { change: rehearsal.change, folder: copy, fault: { call, kind } };
}

/** Runs all attempts, restarting the process when it is killed; undefined for an attempt that was killed. */
async function runAll(attempts: readonly Attempt[]): Promise<readonly (AttemptOutcome | undefined)[]> {
  const planFile = join(folder.path, "plan.json");
  await writeFile(planFile, JSON.stringify({ materials, attempts }));
  const outcomes: (AttemptOutcome | undefined)[] = [];
  while (outcomes.length < attempts.length) {
    const { stdout, wasKilled } = await runProgram([program, planFile, String(outcomes.length)]);
    outcomes.push(...stdout.split("\n").slice(0, -1).map(readOutcome));
    if (wasKilled) outcomes.push(undefined);
  }
  return outcomes;
}

function readOutcome(line: string): AttemptOutcome {
  // Written by our own program.
  return JSON.parse(line) as AttemptOutcome;
}

async function runProgram(args: readonly string[]): Promise<{ stdout: string; wasKilled: boolean }> {
  try {
    const { stdout } = await run(process.execPath, [...args], { timeout: 600_000, killSignal: "SIGTERM" });
    return { stdout, wasKilled: false };
  } catch (error) {
    // The properties of execFile's rejections.
    const { signal, stdout } = error as { signal?: string; stdout?: string };
    if (signal !== "SIGKILL") throw error;
    return { stdout: stdout ?? "", wasKilled: true };
  }
}

/** What is wrong with the store after an attempt; undefined when nothing is. */
async function findViolation(
  { rehearsal, kind }: Injection,
  store: string,
  outcome: AttemptOutcome | undefined,
): Promise<string | undefined> {
  const { before, after, change, verb } = rehearsal;
  const state = await readVerifiedStore(store);
  const isAfter = isSame(state, after);
  if (!isAfter && !isSame(state, before))
    return `neither the old nor the new state: ${JSON.stringify(state)}`;
  if (outcome?.error === undefined && !kind.startsWith("die") && !isAfter) {
    return "it reported success and changed nothing";
  }
  if (verb === "delete" && isAfter) return undefined;
  const { run: retry }: StoreChange = storeChanges[change];
  await retry([await openModelStore(store, "own")], materials);
  return isSame(await readVerifiedStore(store), after) ? undefined : "the retry gave another result";
}

function isSame(one: StoreState, other: StoreState): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function describe({ rehearsal, call, kind }: Injection): string {
  return `${rehearsal.change}, ${kind} at call ${call} (${rehearsal.calls[call - 1]})`;
}

function newFolder(): string {
  stores += 1;
  return join(folder.path, `store-${stores}`);
}
