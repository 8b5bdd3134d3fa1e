/**
 * @module
 * The official Python clients against a running Hearth that wants a key, on the stage that the npm clients use. One
 * script makes the calls of one client and prints a line for each; a test beside it says what each must come to.
 * Nothing imports from here.
 */
import { fileURLToPath } from "node:url";
import { runPython, testModel } from "@hearth-and-keep/test-servers";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { type ClientStage, rightKey, wrongKey } from "../client-fixture.ts";

export type PythonStage = ClientStage & {
  readonly keyless: TestServer;
  readonly registry: { readonly url: string };
};

type Outcomes = Readonly<Record<string, unknown>>;

/** Every call of a script by its name, with what came of it; a name that comes twice is a mistake. */
export async function runCalls(script: string, stage: PythonStage): Promise<Outcomes> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const addresses = [stage.real.url, stage.scripted.url, stage.keyless.url];
  const transfers = [new URL(stage.registry.url).host, await testModel("tiny-llama.gguf")];
  const printed = await runPython(path, [...addresses, rightKey, wrongKey, ...transfers], {
    withinSeconds: 240,
    // Otherwise it would leave what it compiled beside the scripts.
    environment: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  const lines = printed
    .split("\n")
    .filter((line) => line.startsWith('{"call"'))
    // Printed by outcomes.py, one object a line.
    .map((line) => JSON.parse(line) as { readonly call: string; readonly outcome: unknown });
  const outcomes = new Map(lines.map(({ call, outcome }) => [call, outcome]));
  if (outcomes.size < lines.length)
    throw new Error(`Cannot read "${script}": two of its calls have one name`);
  return Object.fromEntries(outcomes);
}

/** What every endpoint must come to without a key and with a wrong one. */
export function refusals(endpoints: readonly string[], outcome: unknown): Outcomes {
  return Object.fromEntries(
    endpoints.flatMap((endpoint) =>
      ["without a key", "with a wrong key"].map((key) => [`${endpoint} ${key}`, outcome]),
    ),
  );
}
