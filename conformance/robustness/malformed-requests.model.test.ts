import { chooseSize, recordFigure, scale } from "@hearth-and-keep/figures";
import { Check } from "typebox/value";
import { expect, test } from "vitest";
import { findShapeFault } from "./error-shape.ts";
import { brokenBodies, wrongBodies } from "./malformed-bodies.ts";
import { brokenMessages } from "./malformed-heads.ts";
import { sendBody, sendBytes } from "./send-bytes.ts";
import { type FakeEngineServer, startFakeEngineServer } from "./start-fake-engine-server.ts";
import { isAimedAtNothing, type RowWithBody, rowsWithBody, validBodyOf } from "./valid-bodies.ts";

const needed = chooseSize({ ci: 2500, show: 10_000, nightly: 10_000 });
const mostGrowthMegabytes = 50;
const atOnce = 16;
/** Every nth wrong value; their number is odd, so that with a power of two every kind still appears in some field. */
const stride = chooseSize({ ci: 8, show: 2, nightly: 1 });
const rounds = scale === "nightly" ? 5 : 1;

type Trial = { readonly name: string; readonly run: () => Promise<string | undefined> };

test("the valid body that every malformed one is made from is answered", async () => {
  await using server = await startFakeEngineServer();
  for (const row of rowsWithBody) {
    const answer = await sendBody(`${server.url}${row.path}`, row.method, JSON.stringify(validBodyOf(row)));
    expect([row.path, answer.status]).toEqual([row.path, isAimedAtNothing(row) ? 404 : 200]);
  }
});

test("thousands of malformed requests are refused in their family's words, and cost no exit and no memory", {
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
  expect(growth).toBeLessThan(mostGrowthMegabytes);
  expect(server.isRunning()).toBe(true);
  expect((await fetch(`${server.url}/api/version`)).status).toBe(200);
  const reached = trials.length * rounds;
  recordFigure({
    claim: "families 6",
    text: `${reached} malformed requests over sockets (needed ${needed}): none answered 5xx but 503, every refusal in its family's shape, memory grew ${growth.toFixed(1)} MB (most ${mostGrowthMegabytes})`,
    counted: { reached, needed },
  });
  expect(reached).toBeGreaterThanOrEqual(needed);
});

/** What went wrong, each with the name of its trial. */
async function runAll(trials: readonly Trial[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const waiting = trials[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const { name, run } of waiting) {
      const fault = await run().catch((problem: unknown) => `not answered: ${String(problem)}`);
      if (fault !== undefined) faults.push(`${name}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return faults;
}

function* trialsOf(row: RowWithBody, server: FakeEngineServer): Generator<Trial> {
  const wrong = [...wrongBodies(row)].filter((_body, index) => index % stride === 0);
  for (const body of wrong) yield trialOf(row, server, body);
  for (const body of brokenBodies(row)) yield trialOf(row, server, body);
  for (const { name, bytes } of brokenMessages(row.path, JSON.stringify(validBodyOf(row)))) {
    yield { name: `${row.path} ${name}`, run: async () => judgeMessage(await sendBytes(server.url, bytes)) };
  }
}

function trialOf(row: RowWithBody, { url }: FakeEngineServer, body: string | Buffer): Trial {
  return {
    name: `${row.method} ${row.path} ${body.toString().slice(0, 200)}`,
    run: async () => {
      const answer = await sendBody(`${url}${row.path}`, row.method, body);
      if (answer.status >= 500 && answer.status !== 503) return `${answer.status} ${answer.body}`;
      if (answer.status >= 400) return findShapeFault(row.protocol.name, answer);
      return isTaken(row, body) ? undefined : `taken with ${answer.status} although the schema refuses it`;
    },
  };
}

function isTaken({ bodySchema }: RowWithBody, body: string | Buffer): boolean {
  try {
    // A mark of byte order before the text may be ignored (RFC 8259, section 8.1), and is.
    return Check(bodySchema, JSON.parse(body.toString().replace(/^\ufeff/u, "")));
  } catch {
    return false;
  }
}

/** A message without a path has no family: a status and the end, or the end alone. Two answers are one too many. */
function judgeMessage(answers: Awaited<ReturnType<typeof sendBytes>>): string | undefined {
  if (answers.length > 1) return `${answers.length} answers to one request`;
  const [answer] = answers;
  if (answer === undefined || answer.status < 500 || answer.status === 503) return undefined;
  return `${answer.status} ${answer.body}`;
}
