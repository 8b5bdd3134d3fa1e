import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { explainFileError, FailureError } from "@hearth-and-keep/failures";
import type { StoreFolderFailure } from "./model-failure.ts";
import { type ModelStore, type ModelStores, openModelStore } from "./store/model-store.ts";

/** Where Ollama keeps its models when it runs for a user and as a service. */
const ollamaStores = [join(homedir(), ".ollama/models"), "/usr/share/ollama/.ollama/models"];

/** Our own store, followed by Ollama's existing stores as read-only ones. */
export async function openStores(folder: string): Promise<ModelStores> {
  const own = await openOwnStore(folder, "own");
  const existing = ollamaStores.filter((each) => existsSync(join(each, "manifests")));
  return [own, ...(await Promise.all(existing.map((each) => openModelStore(each, "read-only"))))];
}

/** Only our own store. Unless it is opened read-only, abandoned temporary files in it are removed. */
export async function openOwnStore(folder: string, access: "own" | "read-only"): Promise<ModelStore> {
  try {
    return await openModelStore(folder.replace(/^~(?=\/)/u, homedir()), access);
  } catch (cause) {
    const reason = explainFileError(cause);
    if (reason === undefined) throw cause;
    const failure = { kind: "store-folder-unusable", folder, reason } as const;
    throw new FailureError<StoreFolderFailure>(failure, { cause });
  }
}
