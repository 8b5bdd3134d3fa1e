import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCatalog } from "../catalog.ts";
import { openModelStore } from "../store/model-store.ts";
import { type FileFault, watchFileCalls, wrapFileCalls } from "./file-calls.ts";
import { openPuller, type PullListener } from "./puller.ts";
import { readVerifiedStore } from "./verify-store.ts";

/** The outcome of one pull, and the models in the store after it. */
export type DiskOutcome = {
  readonly trial: string;
  readonly outcome: string;
  readonly names: readonly string[];
};

// Started by faulty-registry.test.ts in a mount namespace with a small disk. Arguments: the folder of the disk, the
// name to pull, and the size of a ballast file that leaves too little space for the model.
const [, , folder = "", name = "", ballastBytes = "0"] = process.argv;
const ballastFile = join(folder, "ballast");
wrapFileCalls();

await fill();
await tryPull("a disk that is too small");
await clear();
let isFilled = false;
await tryPull("a disk that another program fills", {
  onProgress: async ({ step }) => {
    if (step !== "transferring-layer" || isFilled) return;
    isFilled = true;
    await fill();
  },
});
await clear();
for (const call of [4, 8, 12, 16, 20, 24, 28, 32]) {
  await tryPull("a disk that fails", { call, kind: "EIO" });
  await createCatalog([await openModelStore(folder, "own")])
    .remove(name)
    .catch(() => undefined);
}
await tryPull("a disk with enough space");

async function tryPull(trial: string, fault: FileFault | PullListener = {}): Promise<void> {
  await using puller = await openPuller(folder);
  let outcome = "";
  const listener = "kind" in fault ? {} : fault;
  await watchFileCalls("kind" in fault ? fault : undefined, async () => {
    outcome = await puller.pull(name, listener).catch((error: unknown) => `not a failure: ${String(error)}`);
  });
  const result: DiskOutcome = { trial, outcome, names: Object.keys(await readVerifiedStore(folder)) };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

async function fill(): Promise<void> {
  await writeFile(ballastFile, Buffer.alloc(Number(ballastBytes)));
}

async function clear(): Promise<void> {
  await rm(ballastFile);
}
