import { expect, test } from "vitest";
import { loadInLlamaServer } from "./engine-under-test.ts";
import { killEngines } from "./kill-engines.ts";
import { llamaServerProcesses } from "./worker-processes.ts";

test("killing a spawned llama-server costs its callers one failure each and the other model nothing", {
  timeout: 900_000,
}, async () => {
  await expect(
    killEngines({ load: loadInLlamaServer, processes: llamaServerProcesses, claim: "engines 5" }),
  ).resolves.toBeUndefined();
});
