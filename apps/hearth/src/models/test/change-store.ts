import { readFile } from "node:fs/promises";
import { openModelStore } from "../store/model-store.ts";
import { type FileFault, watchFileCalls, wrapFileCalls } from "./file-calls.ts";
import { type ChangeName, type Materials, type StoreChange, storeChanges } from "./store-changes.ts";

/** Changes to run, each in its own store and with at most one fault. */
export type ChangePlan = { readonly materials: Materials; readonly attempts: readonly Attempt[] };
export type Attempt = {
  readonly change: ChangeName;
  readonly folder: string;
  readonly fault?: FileFault;
};
/** Printed as one line per change, unless the change killed the process. */
export type AttemptOutcome = { readonly calls: readonly string[]; readonly error?: string };

// A separate process, so that it can be killed. Started by failing-calls.test.ts with a plan file and the index of the
// first attempt.
const [, , planFile = "", first = "0"] = process.argv;
// Written by the test that starts this program.
const plan = JSON.parse(await readFile(planFile, "utf8")) as ChangePlan;
wrapFileCalls();
for (const attempt of plan.attempts.slice(Number(first))) {
  process.stdout.write(`${JSON.stringify(await run(attempt))}\n`);
}

async function run({ change, folder, fault }: Attempt): Promise<AttemptOutcome> {
  const stores = [await openModelStore(folder, "own")] as const;
  const { run: runChange }: StoreChange = storeChanges[change];
  let error: string | undefined;
  const calls = await watchFileCalls(fault, () =>
    runChange(stores, plan.materials).catch((cause: unknown) => {
      error = String(cause);
    }),
  );
  return error === undefined ? { calls } : { calls, error };
}
