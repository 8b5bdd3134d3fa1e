import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type TemporaryFolder = AsyncDisposable & { readonly path: string };

/** A separate folder for one test, deleted with its content when the scope ends. */
export async function makeTemporaryFolder(purpose: string, parent = tmpdir()): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(parent, `${purpose}-`));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
