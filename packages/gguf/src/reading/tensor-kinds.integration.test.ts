import { fileURLToPath } from "node:url";
import { preparePython, runPython } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { tensorKinds } from "./tensor-kinds.ts";

/** One more than the last type that llama.cpp's library in the test environment knows. */
const typeCount = 43;

beforeAll(async () => {
  await preparePython();
}, 900_000);

test("block sizes are those that llama.cpp's own library reports, for every type it has", async () => {
  const script = fileURLToPath(new URL("../fixtures/query-llama-cpp.py", import.meta.url));
  const printed = await runPython(script, ["types", String(typeCount)]);
  // The fixture prints number, name, weights and bytes of a block for each type; withdrawn ones have no weights.
  const reported = JSON.parse(printed) as readonly [number, string, number, number][];
  const living = reported.filter(([, , blockWeights]) => blockWeights > 0);
  expect(living.map(([number, name, ...sizes]) => [number, name.toUpperCase(), ...sizes])).toEqual(
    [...tensorKinds].map(([number, kind]) => [number, kind.name, kind.blockWeights, kind.blockBytes]),
  );
  expect(living).toHaveLength(35);
  process.stdout.write(`${living.length} of 35 tensor types compared\n`);
});
