import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chooseSize, hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import {
  descendantsOf,
  makeTemporaryFolder,
  type OwnedProcess,
  readProcessFile,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createModels } from "../../apps/hearth/src/test/prepared-models.ts";
import { median, percentile } from "../../bench/rounds.ts";
import { timeStream } from "../../bench/served.ts";
import { Load, models, type Outcome } from "./soak-load.ts";
import { readMegabytes, smallHeap } from "./start-observed-server.ts";

const soakSeconds = chooseSize({ ci: 40, show: 120, nightly: 600 });
/** Code that runs for the first time and the first garbage collections must not count as growth. */
const warmUpSeconds = chooseSize({ ci: 10, show: 30, nightly: 60 });
const targetLoad = 0.8;
/** After the short warm-up of CI, V8 still compiles. */
const maxGrowthMegabytes = chooseSize({ ci: 30, show: 10, nightly: 10 });
const maxDrift = 0.1;
/** Requests to the soaked server and to a fresh one. */
const pairs = chooseSize({ ci: 20, show: 500, nightly: 1000 });
const warmUpPairs = chooseSize({ ci: 10, show: 50, nightly: 50 });
/** One in a hundred, and four standard deviations of the difference between two such counts. */
const maxSlower = Math.ceil(pairs / 100 + 4 * Math.sqrt((2 * pairs) / 100));
const minComplete = soakSeconds;
const sampleMilliseconds = 500;

const program = fileURLToPath(new URL("../../apps/hearth/bin/hearth.js", import.meta.url));
async function startHearth(folder: string): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [...smallHeap, program, "serve", "--port", "0", "--threads", "1", "--log-level", "warn"],
    environment: { HEARTH_MODELS: folder, HEARTH_CONTEXT_LENGTH: "512", HEARTH_PARALLEL_REQUESTS: "4" },
    isReady: (output) => output.includes("Hearth is listening on"),
    readyWithinSeconds: 60,
  });
}

function zombiesBelow(pid: number): readonly number[] {
  return descendantsOf(pid).filter((each) => /^State:\s+Z/mu.test(readProcessFile(each, "status")));
}

/** Processes of the server's models that are no longer its descendants, so that they would run for ever. */
function orphansOf(pid: number, modelFolder: string): readonly number[] {
  const owned = new Set([pid, ...descendantsOf(pid)]);
  return readdirSync("/proc")
    .map(Number)
    .filter((each) => !Number.isNaN(each) && !owned.has(each))
    .filter((each) => readProcessFile(each, "cmdline").includes(modelFolder));
}

/** Model loads so far, as the server counts them. */
async function countLoads(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: "close" } })).text();
  const counts = [...text.matchAll(/^hearth_scheduling_total\{event="model-loaded"[^}]*\} (\d+)/gmu)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Samples the memory in megabytes until the work is done. */
async function watchMemory(pid: number, work: Promise<void>): Promise<readonly number[]> {
  const samples: number[] = [];
  const working = new Set([work]);
  const finished = work.finally(() => working.clear());
  while (working.size > 0) {
    samples.push(readMegabytes(pid));
    await Promise.race([finished, sleep(sampleMilliseconds)]);
  }
  await finished;
  return samples;
}

type Holdings = { readonly descriptors: number; readonly sockets: number; readonly processes: number };

function inspect({ pid }: OwnedProcess): Holdings {
  const targets = readdirSync(`/proc/${pid}/fd`).map((name) => readLink(`/proc/${pid}/fd/${name}`));
  return {
    descriptors: targets.length,
    sockets: targets.filter((target) => target.startsWith("socket:")).length,
    processes: descendantsOf(pid).length,
  };
}

/** Returns "" when it was closed after it was listed. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** What a server holds when it is idle and all its models are loaded: the same for as long as a connection may linger. */
async function inspectIdle(hearth: OwnedProcess, load: Load): Promise<Holdings> {
  await load.loadAll();
  load.closeConnections();
  const deadline = performance.now() + 60_000;
  let holdings = inspect(hearth);
  for (let repeats = 0; repeats < 5 && performance.now() < deadline; ) {
    await sleep(1000);
    const next = inspect(hearth);
    repeats = JSON.stringify(next) === JSON.stringify(holdings) ? repeats + 1 : 0;
    holdings = next;
  }
  return holdings;
}

type Soak = {
  readonly seconds: number;
  readonly outcomes: readonly Outcome[];
  readonly growthMegabytes: number;
  /** Of the model that stays loaded, in the first and the last third. */
  readonly firstTokens: readonly (readonly number[])[];
};

async function soak({ pid }: OwnedProcess, load: Load, perSecond: number): Promise<Soak> {
  const outcomesBefore = load.outcomes.length;
  const startedAt = performance.now();
  const samples = await watchMemory(pid, load.run(soakSeconds, perSecond));
  const seconds = (performance.now() - startedAt) / 1000;
  const [firstSamples, lastSamples] = endThirds(samples);
  const outcomes = load.outcomes.slice(outcomesBefore).toSorted((a, b) => a.sentAt - b.sentAt);
  const firstTokens = outcomes
    .filter(({ model, firstMilliseconds }) => model === "tiny" && !Number.isNaN(firstMilliseconds))
    .map(({ firstMilliseconds }) => firstMilliseconds);
  return {
    seconds,
    outcomes,
    growthMegabytes: median(lastSamples) - median(firstSamples),
    firstTokens: endThirds(firstTokens),
  };
}

function endThirds(values: readonly number[]): readonly [first: readonly number[], last: readonly number[]] {
  const size = Math.floor(values.length / 3);
  return [values.slice(0, size), values.slice(-size)];
}

type Drift = {
  /** The 99th percentiles of the time to the first token. */
  readonly soaked: number;
  readonly fresh: number;
  /** How many first tokens of the soaked server took longer than a tenth more than the percentile of the fresh one. */
  readonly slower: number;
};

/**
 * Times first tokens of the soaked server and of one that was just started, alternately: other processes on the
 * machine delay both alike, whereas they make the beginning and the end of a soak differ by more than a tenth.
 */
async function measureDrift(soakedUrl: string, freshUrl: string): Promise<Drift> {
  const times = { soaked: new Array<number>(), fresh: new Array<number>() };
  for (let pair = -warmUpPairs; pair < pairs; pair += 1) {
    const options = { num_predict: 1, temperature: 0 };
    const body = { model: "tiny", prompt: `Tell a story about ${pair + 5000} stones.`, options };
    const order = pair % 2 === 0 ? (["soaked", "fresh"] as const) : (["fresh", "soaked"] as const);
    for (const side of order) {
      const url = side === "soaked" ? soakedUrl : freshUrl;
      const { firstMilliseconds } = await timeStream(`${url}/api/generate`, body);
      if (pair >= 0) times[side].push(firstMilliseconds);
    }
  }
  const [soaked, fresh] = [percentile(times.soaked, 0.99), percentile(times.fresh, 0.99)];
  const slower = times.soaked.filter((milliseconds) => milliseconds > fresh * (1 + maxDrift)).length;
  return { soaked, fresh, slower };
}

const urlOf = (hearth: OwnedProcess): string =>
  /Hearth is listening on (\S+)/u.exec(hearth.output())?.[1] ?? "";

test("a server under load with aborted requests, loads and unloads keeps its memory, descriptors, processes and speed", {
  timeout: (soakSeconds + warmUpSeconds + 600) * 1000,
}, async () => {
  await using folder = await makeTemporaryFolder("soak");
  await createModels(folder.path, models);
  await using hearth = await startHearth(folder.path);
  const load = new Load(urlOf(hearth));
  const before = await inspectIdle(hearth, load);
  const capacity = await load.measureCapacity(warmUpSeconds / 2);
  await load.run(warmUpSeconds / 2, capacity * targetLoad);
  const loadsBefore = await countLoads(urlOf(hearth));
  const { seconds, outcomes, growthMegabytes, firstTokens } = await soak(hearth, load, capacity * targetLoad);
  const after = await inspectIdle(hearth, load);
  const orphans = orphansOf(hearth.pid, folder.path);
  const loads = (await countLoads(urlOf(hearth))) - loadsBefore;
  await using fresh = await startHearth(folder.path);
  const drift = await measureDrift(urlOf(hearth), urlOf(fresh));
  const count = (ending: Outcome["ending"]): number =>
    outcomes.filter((outcome) => outcome.ending === ending).length;
  const text = `M20: ${seconds.toFixed(0)} s at ${((outcomes.length / seconds / capacity) * 100).toFixed(0)} % of the capacity of ${capacity.toFixed(0)} requests/s: ${outcomes.length} requests, ${count("complete")} complete, ${count("aborted")} aborted by the client, ${count("busy")} rejected as busy, ${count("failed")} failed; ${loads} loads; memory grew ${growthMegabytes.toFixed(1)} MB (at most ${maxGrowthMegabytes}), descriptors ${before.descriptors} → ${after.descriptors}, sockets ${before.sockets} → ${after.sockets}, processes ${before.processes} → ${after.processes}, ${zombiesBelow(hearth.pid).length} zombies, ${orphans.length} orphans; p99 of the first token ${firstTokens.map((times) => percentile(times, 0.99).toFixed(0)).join(" → ")} ms during the soak, then ${drift.soaked.toFixed(1)} ms beside ${drift.fresh.toFixed(1)} ms of a fresh server, ${drift.slower} of ${pairs} more than 10 % slower (at most ${maxSlower})`;
  process.stdout.write(`${text}\n`);
  expect(outcomes.filter(({ ending }) => ending === "failed")).toEqual([]);
  expect(count("complete")).toBeGreaterThan(minComplete);
  expect(count("aborted")).toBeGreaterThan(0);
  expect(loads).toBeGreaterThan(0);
  expect(growthMegabytes).toBeLessThan(maxGrowthMegabytes);
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
  expect(after.sockets).toBeLessThanOrEqual(before.sockets);
  expect(after.processes).toBe(before.processes);
  expect(zombiesBelow(hearth.pid)).toEqual([]);
  expect(orphans).toEqual([]);
  expect(drift.slower).toBeLessThanOrEqual(hasLooseTimingBounds ? pairs : maxSlower);
  recordFigure({
    claim: "guard 9",
    text,
    counted: { reached: count("complete") + count("aborted"), needed: outcomes.length - count("busy") },
  });
});
