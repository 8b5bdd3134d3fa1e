import { readFile } from "node:fs/promises";
import { openModelStore } from "../store/model-store.ts";
import { type FileFault, watchFileCalls, wrapFileCalls } from "./file-calls.ts";
import { type ChangeName, type Materials, type StoreChange, storeChanges } from "./store-changes.ts";

/** Changes to make, each in a store of its own and each with at most one fault. */
export type ChangePlan = { readonly materials: Materials; readonly attempts: readonly Attempt[] };
export type Attempt = {
  readonly change: ChangeName;
  readonly folder: string;
  readonly fault?: FileFault;
};
/** One line for each change, unless the process died of it. */
export type AttemptOutcome = { readonly calls: readonly string[]; readonly problem?: string };

// A process of its own, so that it may die. Started by failing-calls.test.ts with the file of a plan and the number
// of the first attempt.
const [, , planFile = "", first = "0"] = process.argv;
// Written by the test that starts this program.
const plan = JSON.parse(await readFile(planFile, "utf8")) as ChangePlan;
wrapFileCalls();
for (const attempt of plan.attempts.slice(Number(first))) {
  process.stdout.write(`${JSON.stringify(await make(attempt))}\n`);
}

async function make({ change, folder, fault }: Attempt): Promise<AttemptOutcome> {
  const stores = [await openModelStore(folder, "own")] as const;
  const { run }: StoreChange = storeChanges[change];
  let problem: string | undefined;
  const calls = await watchFileCalls(fault, () =>
    run(stores, plan.materials).catch((cause: unknown) => {
      problem = String(cause);
    }),
  );
  return problem === undefined ? { calls } : { calls, problem };
}
