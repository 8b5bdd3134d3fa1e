import { inspectMachine } from "@hearth-and-keep/engine-host";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

/** A machine on which no model can be started, because it would run as root. */
const machine = {
  ...inspectMachine(),
  isRoot: true,
  bubblewrap: undefined,
  setpriv: undefined,
  restrictedStart: undefined,
  cgroup: undefined,
};

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}

test("a worker that cannot be started is not watched for silence", async () => {
  const before = countTimers();
  const plan = { modelPath: "/missing", contextTokens: 64, sequences: 1, purpose: "generate" } as const;
  const options = { signal: new AbortController().signal, onProgress: () => undefined };
  await expect(createLlamaDriver({ machine }).load(plan, options)).rejects.toThrow("sandbox-unavailable");
  expect(countTimers()).toBe(before);
});
