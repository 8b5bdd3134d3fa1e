import { expect, test } from "vitest";
import { loadInLlamaServer } from "./engine-under-test.ts";
import { killEngines } from "./kill-engines.ts";
import { llamaServerProcesses } from "./worker-processes.ts";

test("killing a spawned llama-server fails each of its requests once and does not affect another model", {
  timeout: 900_000,
}, async () => {
  await expect(
    killEngines({ load: loadInLlamaServer, processes: llamaServerProcesses, claim: "engines 5" }),
  ).resolves.toBeUndefined();
});
