import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { explainFileProblem, FailureError } from "@hearth-and-keep/failures";
import type { StoreFolderFailure } from "./model-failure.ts";
import { type ModelStore, type ModelStores, openModelStore } from "./store/model-store.ts";

/** Where another program of the same layout keeps its models, for a person and for a service of its own. */
const storesOfOthers = [join(homedir(), ".ollama/models"), "/usr/share/ollama/.ollama/models"];

/** Our own store, and below it, only to be read, those that were here before us. */
export async function openStores(folder: string): Promise<ModelStores> {
  const own = await openOwnStore(folder, "own");
  const others = storesOfOthers.filter((each) => existsSync(join(each, "manifests")));
  return [own, ...(await Promise.all(others.map((each) => openModelStore(each, "read-only"))))];
}

/** Our own store alone. Only to be read it is left as it is; else what was abandoned in it goes. */
export async function openOwnStore(folder: string, access: "own" | "read-only"): Promise<ModelStore> {
  try {
    return await openModelStore(folder.replace(/^~(?=\/)/u, homedir()), access);
  } catch (problem) {
    const reason = explainFileProblem(problem);
    if (reason === undefined) throw problem;
    const failure = { kind: "store-folder-unusable", folder, reason } as const;
    throw new FailureError<StoreFolderFailure>(failure, { cause: problem });
  }
}
