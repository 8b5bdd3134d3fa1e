import { fileURLToPath } from "node:url";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { preparePython, runPython } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import type { Protocol } from "../../apps/hearth/src/protocol.ts";
import { type ErrorResponse, findShapeFault } from "./error-shape.ts";
import { wrongBodies } from "./malformed-bodies.ts";
import { sendBody } from "./send-bytes.ts";
import { startFakeEngineServer } from "./start-fake-engine-server.ts";
import type { ObservedServer } from "./start-observed-server.ts";
import { rowsWithBody } from "./valid-bodies.ts";

const program = fileURLToPath(new URL("fixtures/fuzz-documents.py", import.meta.url));
const examples = chooseSize({ ci: 2, show: 30, nightly: 1000 });
const needed = chooseSize({ ci: 60, show: 600, nightly: 20_000 });

type Attack = {
  readonly answers: Readonly<Record<string, number>>;
  readonly refusals: readonly (ErrorResponse & {
    readonly family: Protocol["name"];
    readonly operation: string;
  })[];
};

beforeAll(() => preparePython(), 600_000);

test("requests that the served OpenAPI documents forbid are rejected with errors of the Ollama, OpenAI and Anthropic APIs", {
  timeout: 3_600_000,
}, async () => {
  await using server = await startFakeEngineServer();
  await warmUp(server);
  const before = await server.measureMegabytes();
  const printed = await runPython(program, [server.url, String(examples)], { timeoutSeconds: 3000 });
  // The program prints its result in the last line.
  const { answers: counts, refusals } = JSON.parse(printed.trim().split("\n").at(-1) ?? "") as Attack;
  const growth = (await server.measureMegabytes()) - before;
  const faults = refusals.flatMap((response) => {
    // A pull that happens to be valid does not reach a registry.
    const isServerFault = response.status >= 500 && ![502, 503].includes(response.status);
    const fault = isServerFault ? response.body : findShapeFault(response.family, response);
    return fault === undefined ? [] : [`${response.operation} ${response.status}: ${fault}`];
  });
  expect(faults).toEqual([]);
  expect(growth).toBeLessThan(50);
  expect(server.isRunning()).toBe(true);
  expect(Object.keys(counts)).toEqual(expect.arrayContaining(["400"]));
  const reached = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const statusCounts = Object.entries(counts).map(([status, count]) => `${count} × ${status}`);
  recordFigure({
    claim: "families 6",
    text: `${reached} requests that schemathesis generated against the served OpenAPI documents (needed ${needed}): ${statusCounts.join(", ")}, memory grew ${growth.toFixed(1)} MB (at most 50)`,
    counted: { reached, needed },
  });
  expect(reached).toBeGreaterThanOrEqual(needed);
});

/** Code that runs for the first time allocates memory once, which must not count as growth. */
async function warmUp({ url }: ObservedServer): Promise<void> {
  for (const row of rowsWithBody) {
    for (const body of wrongBodies(row).take(40)) await sendBody(`${url}${row.path}`, row.method, body);
  }
}
