import { setTimeout as sleep } from "node:timers/promises";
import { hasLooseTimingBounds, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { percentile, upperBound } from "../../bench/rounds.ts";
import { type ClientLoad, type Outcome, startClientLoad } from "./client-load.ts";
import { type NetworkedEngine, startEngineNetwork } from "./engine-network.ts";
import { poolFigure, readModels } from "./remote-model.ts";

const clients = 32;
/** In seconds; the one that is cut off comes back while the load goes on. */
const timetable = hasLooseTimingBounds
  ? { healthy: 12, kill: 3, cutOff: 6, putBack: 11, end: 24 }
  : { healthy: 60, kill: 20, cutOff: 35, putBack: 75, end: 120 };
const share = { usual: 1, slowed: 0.1 } as const;
const mostSecondsAway = 10;

test("a slowed, a killed and a cut-off engine of four fail no request that had not begun to stream", {
  timeout: 300_000,
}, async () => {
  await using network = await startEngineNetwork({ engines: 4, slots: 8, share: share.usual });
  const [killed, cutOff, , slowed] = network.engines;
  await using server = await startServer(network.engines);
  const healthy = await runFor(timetable.healthy, load(server, "three"));
  slowed?.limit(share.slowed);
  const disturbed = load(server, "four");
  await sleep(timetable.kill * 1000);
  await killed?.kill();
  await sleep((timetable.cutOff - timetable.kill) * 1000);
  cutOff?.cutOff();
  await sleep((timetable.putBack - timetable.cutOff) * 1000);
  const secondsAway = await putBack(server, cutOff);
  await sleep((timetable.end - timetable.putBack - secondsAway) * 1000);
  await disturbed.stop();

  const failed = disturbed.outcomes.filter(({ problem, hasBegun }) => problem !== undefined && !hasBegun);
  expect(failed).toEqual([]);
  const cut = disturbed.outcomes.filter(({ problem }) => problem !== undefined).length;
  expect(healthy.filter(({ problem }) => problem !== undefined)).toEqual([]);
  const p99 = slowest(disturbed.outcomes);
  const ratio = p99 / slowest(healthy);
  expect(secondsAway).toBeLessThanOrEqual(upperBound(mostSecondsAway));
  expect(ratio).toBeLessThanOrEqual(upperBound(2));
  const all = disturbed.outcomes.length;
  recordFigure({
    claim: "engines 6",
    text: `${all - failed.length} of ${all} requests of ${clients} clients did not fail before they began (${cut} broke off later); p99 ${p99.toFixed(0)} ms, ${ratio.toFixed(2)}× that of three healthy engines; used again ${secondsAway.toFixed(1)} s after its return`,
    counted: { reached: all - failed.length, needed: all },
  });
});

function entry(name: string, list: readonly string[]): string {
  return `[models.${name}]\ndialect = "llama-server"\nrequests_per_engine = 8\naddresses = [${list.join(", ")}]\n`;
}

async function startServer(engines: readonly NetworkedEngine[]): Promise<TestServer> {
  const addresses = engines.map(({ url }) => JSON.stringify(url));
  // Three that stay healthy until the first measurement is over, and all four.
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
    outcomes.flatMap(({ problem, milliseconds }) => (problem === undefined ? milliseconds : [])),
    0.99,
  );
}

/** Gives how many seconds passed until it was asked for something. */
async function putBack(server: TestServer, engine: NetworkedEngine | undefined): Promise<number> {
  const label = engine?.label ?? "";
  const before = await poolFigure(server, "requests", label);
  const startedAt = performance.now();
  engine?.putBack();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  while (seconds() < 2.5 * mostSecondsAway && (await poolFigure(server, "requests", label)) === before) {
    await sleep(100);
  }
  return seconds();
}
