import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { Check } from "typebox/value";
import { expect, test } from "vitest";
import { findShapeFault } from "./error-shape.ts";
import { brokenBodies, wrongBodies } from "./malformed-bodies.ts";
import { brokenMessages } from "./malformed-heads.ts";
import { sendBody, sendBytes } from "./send-bytes.ts";
import { startFakeEngineServer } from "./start-fake-engine-server.ts";
import type { ObservedServer } from "./start-observed-server.ts";
import { isForMissingModel, type RowWithBody, rowsWithBody, validBodyOf } from "./valid-bodies.ts";

const needed = chooseSize({ ci: 2500, show: 10_000, nightly: 10_000 });
const maxGrowthMegabytes = 50;
const atOnce = 16;
/** Uses every nth wrong value. Their number is odd, so that with a power of two each one still occurs in some field. */
const stride = chooseSize({ ci: 8, show: 2, nightly: 1 });
const rounds = scale === "nightly" ? 5 : 1;

type Trial = { readonly name: string; readonly run: () => Promise<string | undefined> };

test("the valid body that each malformed one is derived from is accepted", async () => {
  await using server = await startFakeEngineServer();
  for (const row of rowsWithBody) {
    const response = await sendBody(`${server.url}${row.path}`, row.method, JSON.stringify(validBodyOf(row)));
    expect([row.path, response.status]).toEqual([row.path, isForMissingModel(row) ? 404 : 200]);
  }
});

test("thousands of malformed requests are rejected with errors of the Ollama, OpenAI and Anthropic APIs, without a crash or memory growth", {
  timeout: 900_000,
}, async () => {
  await using server = await startFakeEngineServer();
  const trials = rowsWithBody.flatMap((row) => [...trialsOf(row, server)]);
  await runAll(trials.filter((_trial, index) => index % 5 === 0));
  const before = await server.measureMegabytes();
  const faults: string[] = [];
  for (let round = 0; round < rounds; round += 1) faults.push(...(await runAll(trials)));
  const growth = (await server.measureMegabytes()) - before;
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

/** Runs all trials and returns the faults, each with the name of its trial. */
async function runAll(trials: readonly Trial[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const remaining = trials[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const { name, run } of remaining) {
      const fault = await run().catch((error: unknown) => `no response: ${String(error)}`);
      if (fault !== undefined) faults.push(`${name}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return faults;
}

function* trialsOf(row: RowWithBody, server: ObservedServer): Generator<Trial> {
  const wrong = [...wrongBodies(row)].filter((_body, index) => index % stride === 0);
  for (const body of wrong) yield trialOf(row, server, body);
  for (const body of brokenBodies(row)) yield trialOf(row, server, body);
  for (const { name, bytes } of brokenMessages(row.path, JSON.stringify(validBodyOf(row)))) {
    yield { name: `${row.path} ${name}`, run: async () => faultOf(await sendBytes(server.url, bytes)) };
  }
}

function trialOf(row: RowWithBody, { url }: ObservedServer, body: string | Buffer): Trial {
  return {
    name: `${row.method} ${row.path} ${body.toString().slice(0, 200)}`,
    run: async () => {
      const response = await sendBody(`${url}${row.path}`, row.method, body);
      if (response.status >= 500 && response.status !== 503) return `${response.status} ${response.body}`;
      if (response.status >= 400) return findShapeFault(row.protocol.name, response);
      return isValid(row, body)
        ? undefined
        : `accepted with ${response.status} although the schema forbids it`;
    },
  };
}

function isValid({ bodySchema }: RowWithBody, body: string | Buffer): boolean {
  try {
    // A byte order mark before the text may be ignored (RFC 8259, section 8.1), and is.
    return Check(bodySchema, JSON.parse(body.toString().replace(/^\ufeff/u, "")));
  } catch {
    return false;
  }
}

/** A malformed message may get one response of any format or none, but not two and not an unexpected 5xx. */
function faultOf(responses: Awaited<ReturnType<typeof sendBytes>>): string | undefined {
  if (responses.length > 1) return `${responses.length} responses to one request`;
  const [response] = responses;
  if (response === undefined || response.status < 500 || response.status === 503) return undefined;
  return `${response.status} ${response.body}`;
}
