import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCatalog } from "../catalog.ts";
import { openModelStore } from "../store/model-store.ts";
import { type FileFault, watchFileCalls, wrapFileCalls } from "./file-calls.ts";
import { type Listener, openPuller } from "./puller.ts";
import { readSoundStore } from "./sound-store.ts";

/** How one pull ended and what was listed after it. */
export type DiskOutcome = {
  readonly trial: string;
  readonly ending: string;
  readonly names: readonly string[];
};

// Started by faulty-registry.test.ts in a namespace of its own, with a small disk that goes when the program ends:
// its folder, the name to pull, and how many bytes of other things leave too little room for it.
const [, , folder = "", name = "", ballastBytes = "0"] = process.argv;
const ballastFile = join(folder, "ballast");
wrapFileCalls();

await fill();
await tryPull("a disk that is too small");
await clear();
let isFilled = false;
await tryPull("a disk that another program fills", {
  onProgress: async ({ step }) => {
    if (step !== "moving-layer" || isFilled) return;
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
await tryPull("a disk with room");

async function tryPull(trial: string, fault: FileFault | Listener = {}): Promise<void> {
  await using puller = await openPuller(folder);
  let ending = "";
  const listener = "kind" in fault ? {} : fault;
  await watchFileCalls("kind" in fault ? fault : undefined, async () => {
    ending = await puller
      .pull(name, listener)
      .catch((problem: unknown) => `no failure of ours: ${String(problem)}`);
  });
  const outcome: DiskOutcome = { trial, ending, names: Object.keys(await readSoundStore(folder)) };
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}

async function fill(): Promise<void> {
  await writeFile(ballastFile, Buffer.alloc(Number(ballastBytes)));
}

async function clear(): Promise<void> {
  await rm(ballastFile);
}
