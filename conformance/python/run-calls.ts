/**
 * @module
 * The official Python clients against a running Hearth with an API key, on the same servers as the npm clients. One
 * script per client makes the calls and prints a line for each; `expected-outcomes.ts` has the expected results.
 * Nothing imports from here.
 */
import { fileURLToPath } from "node:url";
import { runPython, testModel } from "@hearth-and-keep/test-servers";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { type ClientFixture, rightKey, wrongKey } from "../client-fixture.ts";

export type PythonFixture = ClientFixture & {
  readonly keyless: TestServer;
  readonly registry: { readonly url: string };
};

type Outcomes = Readonly<Record<string, unknown>>;

/** The outcome of every call of a script, by its name. Throws on a duplicate name. */
export async function runCalls(script: string, fixture: PythonFixture): Promise<Outcomes> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const addresses = [fixture.real.url, fixture.fake.url, fixture.keyless.url];
  const transfers = [new URL(fixture.registry.url).host, await testModel("tiny-llama.gguf")];
  const printed = await runPython(path, [...addresses, rightKey, wrongKey, ...transfers], {
    timeoutSeconds: 240,
    // Otherwise Python would write compiled files next to the scripts.
    environment: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  const lines = printed
    .split("\n")
    .filter((line) => line.startsWith('{"call"'))
    // Printed by outcomes.py, one object per line.
    .map((line) => JSON.parse(line) as { readonly call: string; readonly outcome: unknown });
  const outcomes = new Map(lines.map(({ call, outcome }) => [call, outcome]));
  if (outcomes.size < lines.length) throw new Error(`Duplicate call name in "${script}"`);
  return Object.fromEntries(outcomes);
}

/** The outcome of every endpoint without a key and with a wrong key. */
export function rejections(endpoints: readonly string[], outcome: unknown): Outcomes {
  return Object.fromEntries(
    endpoints.flatMap((endpoint) =>
      ["without a key", "with a wrong key"].map((key) => [`${endpoint} ${key}`, outcome]),
    ),
  );
}
