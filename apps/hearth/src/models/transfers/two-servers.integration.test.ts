import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, type OwnedProcess, startFaultProxy } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startServer, urlOf } from "../test/pulling-server.ts";
import { addToRegistry, startSeededRegistry, writeRandomModel } from "../test/seeded-registry.ts";
import { readVerifiedStore, verifyBlobs } from "../test/verify-store.ts";

const pullsPerServer = chooseSize({ ci: 3, show: 50, nightly: 500 });
const models = ["model", "second", "third"];
const modelBytes = 6_000_000;
/** Slow enough that the pulls of both servers overlap. */
const connectionBytesPerSecond = 4_000_000;
const pullsPerKill = 3;

/** A server that is started again when it was killed. */
class Server implements AsyncDisposable {
  readonly #start: () => Promise<OwnedProcess>;
  #process: OwnedProcess;
  kills = 0;

  constructor(start: () => Promise<OwnedProcess>, first: OwnedProcess) {
    this.#start = start;
    this.#process = first;
  }

  get url(): string {
    return urlOf(this.#process);
  }

  async kill(): Promise<void> {
    process.kill(this.#process.pid, "SIGKILL");
    await this.#process.exited;
    this.kills += 1;
    this.#process = await this.#start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process.stop();
  }
}

async function startRestartable(folder: string, registryPort: number): Promise<Server> {
  const start = (): Promise<OwnedProcess> => startServer(folder, registryPort);
  return new Server(start, await start());
}

type PullPlan = {
  readonly server: Server;
  readonly registry: string;
  /** So that the servers pull the same model at one time and different ones at another. */
  readonly offset: number;
};

/** Pulls, deletes now and then, and is killed during every third pull; returns how many pulls reported success. */
async function pullRepeatedly({ server, registry, offset }: PullPlan): Promise<number> {
  let succeeded = 0;
  for (let pull = 0; pull < pullsPerServer; pull += 1) {
    const name = `${registry}/team/${models[(pull * offset) % models.length] ?? ""}`;
    const isKilled = pull % pullsPerKill === pullsPerKill - 1;
    const killing = isKilled ? sleep(200 + ((pull * 97) % 400)).then(() => server.kill()) : undefined;
    const text = await post(`${server.url}/api/pull`, { model: name, insecure: true }).catch(() => "");
    await killing;
    const hasSucceeded = text.includes('"status":"success"');
    expect(hasSucceeded || isKilled, text).toBe(true);
    if (hasSucceeded) succeeded += 1;
    if (pull % 2 === 1) await post(`${server.url}/api/delete`, { model: name }).catch(() => "");
  }
  return succeeded;
}

async function post(url: string, body: object): Promise<string> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return response.text();
}

test("two servers pull the same and different models into one store while they are killed, and no blob is ever wrong", {
  timeout: 3_600_000,
}, async () => {
  await using registry = await startSeededRegistry(writeRandomModel(modelBytes));
  for (const model of models.slice(1)) await addToRegistry(registry.url, model, writeRandomModel(modelBytes));
  await using proxy = await startFaultProxy({
    target: registry.url,
    faults: [{ kind: "throttle", bytesPerSecond: connectionBytesPerSecond }],
  });
  await using folder = await makeTemporaryFolder("two-servers");
  await using first = await startRestartable(folder.path, proxy.port);
  await using second = await startRestartable(folder.path, proxy.port);
  const host = `127.0.0.1:${proxy.port}`;
  const finished = new AbortController();
  let verified = 0;
  const verifying = (async () => {
    while (!finished.signal.aborted) {
      verified += await verifyBlobs(folder.path);
      await sleep(50);
    }
  })();
  const succeeded = await Promise.all([
    pullRepeatedly({ server: first, registry: host, offset: 1 }),
    pullRepeatedly({ server: second, registry: host, offset: 2 }),
  ]);
  finished.abort();
  await verifying;
  for (const model of models) {
    expect(
      await post(`${second.url}/api/pull`, { model: `${host}/team/${model}`, insecure: true }),
    ).toContain('"status":"success"');
  }
  expect(Object.keys(await readVerifiedStore(folder.path))).toHaveLength(models.length);
  const kills = first.kills + second.kills;
  const pulls = pullsPerServer * 2;
  expect(kills).toBeGreaterThan(0);
  recordFigure({
    claim: "guard 8",
    text: `${succeeded.join(" and ")} of ${pullsPerServer} pulls each by two servers on one store succeeded beside ${kills} kills; all of ${verified} blobs that were read meanwhile had the hash of their name`,
    counted: { reached: pulls, needed: pulls },
  });
});
