import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import {
  type FaultProxy,
  makeTemporaryFolder,
  type OwnedProcess,
  startFaultProxy,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { readSoundStore } from "../test/sound-store.ts";
import { startStockedRegistry, writeRandomModel } from "../test/stocked-registry.ts";

const program = fileURLToPath(new URL("../../../bin/hearth.js", import.meta.url));
const kills = scale === "nightly" ? 1000 : 30;
const seed = scale === "nightly" ? Date.now() : 20_261_115;
const modelBytes = 200_000_000;
const rangeBytes = 16 * 1024 * 1024;
/** So that one pull lasts over several kills. */
const connectionBytesPerSecond = 12_000_000;
const longestLifeMilliseconds = 1600;

/** Bytes as the registry sees them: what was sent for a model so far, and what of it a new process still has. */
class Ledger {
  pulls = 0;
  killed = 0;
  sentInAll = 0;
  readonly again: number[] = [];
  #kept = 0;
  #sent = 0;
  #kills = 0;

  noteSent(bytes: number): void {
    this.#sent += bytes;
    this.sentInAll += bytes;
  }

  noteKill(): void {
    this.#kills += 1;
    this.killed += 1;
  }

  /** What a new process says it has, or the whole model once it is there. */
  noteKept(bytes: number): void {
    if (this.#kills > 0) this.again.push((this.#kept + this.#sent - bytes) / this.#kills);
    this.#kept = bytes;
    this.#sent = 0;
    this.#kills = 0;
  }

  noteEnd(size: number): void {
    this.noteKept(size);
    this.#kept = 0;
    this.pulls += 1;
  }
}

test(`a pull that is killed ${kills} times goes on where it was, and no name ever points to what was not verified`, {
  timeout: 6 * 3_600_000,
}, async () => {
  await using registry = await startStockedRegistry(writeRandomModel(modelBytes));
  await using proxy = await startFaultProxy({
    target: registry.url,
    faults: [{ kind: "throttle", bytesPerSecond: connectionBytesPerSecond }],
  });
  await using folder = await makeTemporaryFolder("killed-pulls");
  const random = makeRandom(seed);
  const ledger = new Ledger();
  for (let isWhole = false; !isWhole || ledger.killed < kills; ) {
    const lifeMilliseconds = ledger.killed < kills ? random() * longestLifeMilliseconds : undefined;
    const wasTold = await pullOnce({ folder: folder.path, proxy, ledger, lifeMilliseconds });
    const names = Object.keys(await readSoundStore(folder.path));
    // A process may die after the name appeared and before it told so.
    isWhole = wasTold || names.length > 0;
    expect(names).toEqual(isWhole ? [`127.0.0.1:${proxy.port}/team/model:latest`] : []);
    if (isWhole) ledger.noteEnd(registry.bytes);
  }
  const average = (ledger.sentInAll - ledger.pulls * registry.bytes) / ledger.killed;
  const most = Math.max(...ledger.again);
  const text = `${mebibytes(average)} fetched again per kill (most ${mebibytes(most)}), ${ledger.killed} kills in ${ledger.pulls} pulls, seed ${seed}`;
  expect(average, text).toBeLessThanOrEqual(rangeBytes);
  expect(most, text).toBeLessThanOrEqual(rangeBytes);
  recordFigure({ claim: "store 2", text, counted: { reached: ledger.killed, needed: kills } });
});

type Round = {
  readonly folder: string;
  readonly proxy: FaultProxy;
  readonly ledger: Ledger;
  /** Without an end the pull may finish. */
  readonly lifeMilliseconds: number | undefined;
};

/** Starts the server, deletes the model when it is whole, and pulls until the process is killed or the model is there. */
async function pullOnce({ folder, proxy, ledger, lifeMilliseconds }: Round): Promise<boolean> {
  await using server = await startServer(folder, proxy.port);
  const url = /Hearth listens on (\S+)/u.exec(server.output())?.[1] ?? "";
  const name = `127.0.0.1:${proxy.port}/team/model`;
  const { models } = Object(await (await fetch(`${url}/api/tags`)).json());
  if (models.length > 0) await call(`${url}/api/delete`, { method: "DELETE", name });
  const sentBefore = proxy.counts().bytesToClient;
  const end = new AbortController();
  const death = dieLater(server, lifeMilliseconds, end.signal);
  const isWhole = await readPull(url, name, ledger).catch(() => false);
  end.abort();
  const wasKilled = await death;
  if (wasKilled) ledger.noteKill();
  expect(wasKilled || isWhole, server.output()).toBe(true);
  ledger.noteSent(proxy.counts().bytesToClient - sentBefore);
  return isWhole;
}

function startServer(folder: string, registryPort: number): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--models", folder].concat([
      "--private-registries",
      `127.0.0.1:${registryPort}`,
    ]),
    isReady: (output) => output.includes("Hearth listens on"),
    readyWithinSeconds: 60,
  });
}

async function dieLater(
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

/** True when the stream told of success; it breaks off when the process dies. */
async function readPull(url: string, name: string, ledger: Ledger): Promise<boolean> {
  const answer = await call(`${url}/api/pull`, { method: "POST", name, insecure: true });
  let text = "";
  let isFirst = true;
  for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (text + part).split("\n");
    text = lines.pop() ?? "";
    for (const { status, error, completed, total } of lines.map((line) => JSON.parse(line))) {
      if (error !== undefined) throw new Error(error);
      if (status === "success") return true;
      if (!isFirst || completed === undefined || total < modelBytes) continue;
      isFirst = false;
      ledger.noteKept(completed);
    }
  }
  return false;
}

async function call(
  url: string,
  { method, ...body }: { readonly method: string; readonly name: string; readonly insecure?: boolean },
): Promise<Response> {
  const answer = await fetch(url, { method, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  return answer;
}

/** The same numbers for the same seed. */
function makeRandom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
