import { fileURLToPath } from "node:url";
import { preparePython, runPython } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { tensorKinds } from "./tensor-kinds.ts";

/** One more than the last type of the llama.cpp library in the test environment. */
const typeCount = 43;

beforeAll(async () => {
  await preparePython();
}, 900_000);

test("block sizes match those that llama.cpp's library reports for every type", async () => {
  const script = fileURLToPath(new URL("../fixtures/query-llama-cpp.py", import.meta.url));
  const printed = await runPython(script, ["types", String(typeCount)]);
  // The fixture prints number, name, weights and bytes of a block for each type; retired types have no weights.
  const reported = JSON.parse(printed) as readonly [number, string, number, number][];
  const supported = reported.filter(([, , blockWeights]) => blockWeights > 0);
  expect(supported.map(([number, name, ...sizes]) => [number, name.toUpperCase(), ...sizes])).toEqual(
    [...tensorKinds].map(([number, kind]) => [number, kind.name, kind.blockWeights, kind.blockBytes]),
  );
  expect(supported).toHaveLength(35);
  process.stdout.write(`${supported.length} of 35 tensor types compared\n`);
});
