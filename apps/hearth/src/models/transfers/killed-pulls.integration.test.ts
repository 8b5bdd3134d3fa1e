import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import {
  type FaultProxy,
  makeTemporaryFolder,
  type OwnedProcess,
  startFaultProxy,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startServer, urlOf } from "../test/pulling-server.ts";
import { startSeededRegistry, writeRandomModel } from "../test/seeded-registry.ts";
import { readVerifiedStore } from "../test/verify-store.ts";

const kills = chooseSize({ ci: 4, show: 30, nightly: 1000 });
const seed = scale === "nightly" ? Date.now() : 20_261_115;
const modelBytes = 200_000_000;
const rangeBytes = 16 * 1024 * 1024;
/** Slow enough that one pull survives several kills. */
const connectionBytesPerSecond = 12_000_000;
const maxLifeMilliseconds = 1600;

/** Counts the bytes that the registry sent for a model, and how many of them a restarted process still has. */
class Ledger {
  pulls = 0;
  killed = 0;
  totalSent = 0;
  readonly refetched: number[] = [];
  #kept = 0;
  #sent = 0;
  #kills = 0;

  addSent(bytes: number): void {
    this.#sent += bytes;
    this.totalSent += bytes;
  }

  addKill(): void {
    this.#kills += 1;
    this.killed += 1;
  }

  /** The bytes that a restarted process reports, or the size of the model once it is complete. */
  setKept(bytes: number): void {
    if (this.#kills > 0) this.refetched.push((this.#kept + this.#sent - bytes) / this.#kills);
    this.#kept = bytes;
    this.#sent = 0;
    this.#kills = 0;
  }

  finishPull(size: number): void {
    this.setKept(size);
    this.#kept = 0;
    this.pulls += 1;
  }
}

test(`a pull that is killed ${kills} times resumes, and no name ever refers to unverified content`, {
  timeout: 6 * 3_600_000,
}, async () => {
  await using registry = await startSeededRegistry(writeRandomModel(modelBytes));
  await using proxy = await startFaultProxy({
    target: registry.url,
    faults: [{ kind: "throttle", bytesPerSecond: connectionBytesPerSecond }],
  });
  await using folder = await makeTemporaryFolder("killed-pulls");
  const random = createRandom(seed);
  const ledger = new Ledger();
  for (let isComplete = false; !isComplete || ledger.killed < kills; ) {
    const lifeMilliseconds = ledger.killed < kills ? random() * maxLifeMilliseconds : undefined;
    const hasReported = await pullOnce({ folder: folder.path, proxy, ledger, lifeMilliseconds });
    const names = Object.keys(await readVerifiedStore(folder.path));
    // A process may be killed after writing the manifest and before reporting success.
    isComplete = hasReported || names.length > 0;
    expect(names).toEqual(isComplete ? [`127.0.0.1:${proxy.port}/team/model:latest`] : []);
    if (isComplete) ledger.finishPull(registry.bytes);
  }
  const average = (ledger.totalSent - ledger.pulls * registry.bytes) / ledger.killed;
  const max = Math.max(...ledger.refetched);
  const text = `${mebibytes(average)} downloaded again per kill (at most ${mebibytes(max)}), ${ledger.killed} kills in ${ledger.pulls} pulls, seed ${seed}`;
  expect(average, text).toBeLessThanOrEqual(rangeBytes);
  expect(max, text).toBeLessThanOrEqual(rangeBytes);
  recordFigure({ claim: "store 2", text, counted: { reached: ledger.killed, needed: kills } });
});

type PullRound = {
  readonly folder: string;
  readonly proxy: FaultProxy;
  readonly ledger: Ledger;
  /** Undefined lets the pull finish. */
  readonly lifeMilliseconds: number | undefined;
};

/** Starts the server, deletes the model if it is complete, and pulls until the process is killed or the pull succeeds. */
async function pullOnce({ folder, proxy, ledger, lifeMilliseconds }: PullRound): Promise<boolean> {
  await using server = await startServer(folder, proxy.port);
  const url = urlOf(server);
  const name = `127.0.0.1:${proxy.port}/team/model`;
  const { models } = Object(await (await fetch(`${url}/api/tags`)).json());
  if (models.length > 0) await send(`${url}/api/delete`, { method: "DELETE", name });
  const sentBefore = proxy.counts().bytesToClient;
  const finished = new AbortController();
  const killing = killLater(server, lifeMilliseconds, finished.signal);
  const isComplete = await readPull(url, name, ledger).catch(() => false);
  finished.abort();
  const wasKilled = await killing;
  if (wasKilled) ledger.addKill();
  expect(wasKilled || isComplete, server.output()).toBe(true);
  ledger.addSent(proxy.counts().bytesToClient - sentBefore);
  return isComplete;
}

async function killLater(
  server: OwnedProcess,
  milliseconds: number | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (milliseconds === undefined) return false;
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch {
    return false;
  }
  process.kill(server.pid, "SIGKILL");
  await server.exited;
  return true;
}

/** True when the stream reported success; it ends early when the process is killed. */
async function readPull(url: string, name: string, ledger: Ledger): Promise<boolean> {
  const response = await send(`${url}/api/pull`, { method: "POST", name, insecure: true });
  let text = "";
  let isFirst = true;
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    for (const { status, error, completed, total } of lines.map((line) => JSON.parse(line))) {
      if (error !== undefined) throw new Error(error);
      if (status === "success") return true;
      if (!isFirst || completed === undefined || total < modelBytes) continue;
      isFirst = false;
      ledger.setKept(completed);
    }
  }
  return false;
}

async function send(
  url: string,
  { method, ...body }: { readonly method: string; readonly name: string; readonly insecure?: boolean },
): Promise<Response> {
  const response = await fetch(url, { method, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return response;
}

/** A deterministic sequence for each seed. */
function createRandom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
