import { setTimeout as sleep } from "node:timers/promises";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { percentile, upperBound } from "../../bench/rounds.ts";
import { type ClientLoad, type Outcome, startClientLoad } from "./client-load.ts";
import { type NetworkedEngine, startEngineNetwork } from "./engine-network.ts";
import { poolMetric, readModels } from "./remote-model.ts";

const clients = 32;
/** In seconds; the disconnected engine is reconnected while the load continues. */
const timetable = hasLooseTimingBounds
  ? { healthy: 6, kill: 2, disconnect: 4, reconnect: 8, end: 15 }
  : { healthy: 60, kill: 20, disconnect: 35, reconnect: 75, end: 120 };
const share = { default: 1, slowed: 0.1 } as const;
const maxSecondsUntilUsed = 10;

test("a slowed, a killed and a disconnected engine of four fail no request that has not started to stream", {
  timeout: 300_000,
}, async () => {
  await using network = await startEngineNetwork({ engines: 4, slots: 8, share: share.default });
  const [killed, disconnected, , slowed] = network.engines;
  await using server = await startServer(network.engines);
  const healthy = await runFor(timetable.healthy, load(server, "three"));
  slowed?.limit(share.slowed);
  const disturbed = load(server, "four");
  await sleep(timetable.kill * 1000);
  await killed?.kill();
  await sleep((timetable.disconnect - timetable.kill) * 1000);
  disconnected?.disconnect();
  await sleep((timetable.reconnect - timetable.disconnect) * 1000);
  const secondsUntilUsed = await reconnect(server, disconnected);
  await sleep((timetable.end - timetable.reconnect - secondsUntilUsed) * 1000);
  await disturbed.stop();

  const failed = disturbed.outcomes.filter(({ error, hasStarted }) => error !== undefined && !hasStarted);
  expect(failed).toEqual([]);
  const interrupted = disturbed.outcomes.filter(({ error }) => error !== undefined).length;
  expect(healthy.filter(({ error }) => error !== undefined)).toEqual([]);
  const p99 = slowest(disturbed.outcomes);
  const ratio = p99 / slowest(healthy);
  expect(secondsUntilUsed).toBeLessThanOrEqual(upperBound(maxSecondsUntilUsed));
  expect(ratio).toBeLessThanOrEqual(upperBound(2));
  const all = disturbed.outcomes.length;
  recordFigure({
    claim: "engines 6",
    text: `${all - failed.length} of ${all} requests of ${clients} clients did not fail before their first token (${interrupted} failed later); p99 ${p99.toFixed(0)} ms, ${ratio.toFixed(2)}× that of three healthy engines; used again ${secondsUntilUsed.toFixed(1)} s after it was reconnected`,
    counted: { reached: all - failed.length, needed: all },
  });
});

function entry(name: string, list: readonly string[]): string {
  return `[models.${name}]\ndialect = "llama-server"\nrequests_per_engine = 8\naddresses = [${list.join(", ")}]\n`;
}

async function startServer(engines: readonly NetworkedEngine[]): Promise<TestServer> {
  const addresses = engines.map(({ url }) => JSON.stringify(url));
  // Three engines for the healthy measurement, and all four.
  const remote = await readModels(entry("three", addresses.slice(0, 3)) + entry("four", addresses));
  return startTestServer({ models: {}, remote });
}

function load({ url }: TestServer, model: string): ClientLoad {
  return startClientLoad({ url, model, clients, pauseMilliseconds: 1200, maxTokens: 8 });
}

async function runFor(seconds: number, running: ClientLoad): Promise<readonly Outcome[]> {
  await sleep(seconds * 1000);
  await running.stop();
  return running.outcomes;
}

function slowest(outcomes: readonly Outcome[]): number {
  return percentile(
    outcomes.flatMap(({ error, milliseconds }) => (error === undefined ? milliseconds : [])),
    0.99,
  );
}

/** Reconnects an engine and returns the seconds until it received a request. */
async function reconnect(server: TestServer, engine: NetworkedEngine | undefined): Promise<number> {
  const label = engine?.label ?? "";
  const before = await poolMetric(server, "requests", label);
  const startedAt = performance.now();
  engine?.reconnect();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  while (seconds() < 2.5 * maxSecondsUntilUsed && (await poolMetric(server, "requests", label)) === before) {
    await sleep(100);
  }
  return seconds();
}
