import { fileURLToPath } from "node:url";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { preparePython, runPython } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import type { Protocol } from "../../apps/hearth/src/protocol.ts";
import { findShapeFault, type Refusal } from "./error-shape.ts";
import { wrongBodies } from "./malformed-bodies.ts";
import { sendBody } from "./send-bytes.ts";
import { type FakeEngineServer, startFakeEngineServer } from "./start-fake-engine-server.ts";
import { rowsWithBody } from "./valid-bodies.ts";

const program = fileURLToPath(new URL("fixtures/fuzz-documents.py", import.meta.url));
const examples = chooseSize({ ci: 10, show: 30, nightly: 1000 });
const needed = chooseSize({ ci: 200, show: 600, nightly: 20_000 });

type Attack = {
  readonly answers: Readonly<Record<string, number>>;
  readonly refusals: readonly (Refusal & { readonly family: Protocol["name"]; readonly operation: string })[];
};

beforeAll(() => preparePython(), 600_000);

test("requests that the served documents forbid are refused in their family's words", {
  timeout: 3_600_000,
}, async () => {
  await using server = await startFakeEngineServer();
  await warmUp(server);
  const before = await server.measureMegabytes();
  const printed = await runPython(program, [server.url, String(examples)], { withinSeconds: 3000 });
  // The last line is what the program prints at its end.
  const { answers, refusals } = JSON.parse(printed.trim().split("\n").at(-1) ?? "") as Attack;
  const growth = (await server.measureMegabytes()) - before;
  const faults = refusals.flatMap((refusal) => {
    // A pull that is valid after all finds no registry.
    const isOurs = refusal.status >= 500 && ![502, 503].includes(refusal.status);
    const fault = isOurs ? refusal.body : findShapeFault(refusal.family, refusal);
    return fault === undefined ? [] : [`${refusal.operation} ${refusal.status}: ${fault}`];
  });
  expect(faults).toEqual([]);
  expect(growth).toBeLessThan(50);
  expect(server.isRunning()).toBe(true);
  expect(Object.keys(answers)).toEqual(expect.arrayContaining(["400"]));
  const reached = Object.values(answers).reduce((sum, count) => sum + count, 0);
  const told = Object.entries(answers).map(([status, count]) => `${count} × ${status}`);
  recordFigure({
    claim: "families 6",
    text: `${reached} requests made by schemathesis to break the served documents (needed ${needed}): ${told.join(", ")}, memory grew ${growth.toFixed(1)} MB (most 50)`,
    counted: { reached, needed },
  });
  expect(reached).toBeGreaterThanOrEqual(needed);
});

/** Code that runs for the first time takes memory once, whatever it is sent. */
async function warmUp({ url }: FakeEngineServer): Promise<void> {
  for (const row of rowsWithBody) {
    for (const body of wrongBodies(row).take(40)) await sendBody(`${url}${row.path}`, row.method, body);
  }
}
