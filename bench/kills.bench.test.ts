import { expect, test } from "vitest";
import { loadSmolLm } from "./engine-under-test.ts";
import { killEngines } from "./kill-engines.ts";
import { workerProcesses } from "./worker-processes.ts";

test("killing a worker fails each of its requests once and does not affect another model", {
  timeout: 900_000,
}, async () => {
  await expect(
    killEngines({ load: loadSmolLm, processes: workerProcesses, claim: "engine 7" }),
  ).resolves.toBeUndefined();
});
