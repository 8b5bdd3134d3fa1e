import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { runAll, trialsOf } from "./malformed-trials.ts";
import { sendBody } from "./send-bytes.ts";
import { startFakeEngineServer } from "./start-fake-engine-server.ts";
import { isForMissing, rowsWithBody, validBodyOf } from "./valid-bodies.ts";

const needed = chooseSize({ ci: 2500, show: 10_000, nightly: 10_000 });
const maxGrowthMegabytes = 50;
const stride = chooseSize({ ci: 48, show: 2, nightly: 1 });
const rounds = scale === "nightly" ? 5 : 1;
/** What leaks grows every time. A heap that is still settling does not. */
const maxMeasurements = 3;

test("the valid body that each malformed one is derived from is accepted", async () => {
  await using server = await startFakeEngineServer();
  for (const row of rowsWithBody) {
    const response = await sendBody(`${server.url}${row.path}`, row.method, JSON.stringify(validBodyOf(row)));
    expect([row.path, response.status]).toEqual([row.path, isForMissing(row) ? 404 : 200]);
  }
});

test("thousands of malformed requests are rejected with errors of the Ollama, OpenAI and Anthropic APIs, without a crash or memory growth", {
  timeout: 900_000,
}, async () => {
  await using server = await startFakeEngineServer();
  const trials = rowsWithBody.flatMap((row) => [...trialsOf(row, { url: server.url, stride })]);
  await runAll(trials.filter((_trial, index) => index % 5 === 0));
  const faults: string[] = [];
  let growth = Number.POSITIVE_INFINITY;
  for (let times = 0; times < maxMeasurements && growth >= maxGrowthMegabytes; times += 1) {
    const before = await server.measureMegabytes();
    for (let round = 0; round < rounds; round += 1) faults.push(...(await runAll(trials)));
    growth = (await server.measureMegabytes()) - before;
  }
  expect(faults).toEqual([]);
  expect(growth).toBeLessThan(maxGrowthMegabytes);
  expect(server.isRunning()).toBe(true);
  expect((await fetch(`${server.url}/api/version`)).status).toBe(200);
  const reached = trials.length * rounds;
  recordFigure({
    claim: "families 6",
    text: `${reached} malformed requests over sockets (needed ${needed}): no 5xx response but 503, every error in the format of its API, memory grew ${growth.toFixed(1)} MB (at most ${maxGrowthMegabytes})`,
    counted: { reached, needed },
  });
  expect(reached).toBeGreaterThanOrEqual(needed);
});
