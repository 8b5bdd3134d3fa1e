import { expect, test } from "vitest";
import { loadSmolLm } from "./engine-under-test.ts";
import { killEngines } from "./kill-engines.ts";
import { workerProcesses } from "./worker-processes.ts";

test("killing a worker costs its callers one failure each and the other model nothing", {
  timeout: 900_000,
}, async () => {
  await expect(
    killEngines({ load: loadSmolLm, processes: workerProcesses, claim: "engine 7" }),
  ).resolves.toBeUndefined();
});
