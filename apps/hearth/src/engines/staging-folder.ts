import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const prefix = "unfinished-";

/** A temporary folder that is removed on disposal; also removes folders of earlier processes that were killed. */
export async function openStagingFolder(
  folder: string,
  name: string,
): Promise<AsyncDisposable & { readonly path: string }> {
  await mkdir(folder, { recursive: true });
  const abandoned = (await readdir(folder)).filter((each) => each.startsWith(prefix) && !isAlive(each));
  for (const each of abandoned) await rm(join(folder, each), { recursive: true, force: true });
  const path = join(folder, `${prefix}${name}-${process.pid}`);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The name ends with the id of the process that created the folder. */
function isAlive(name: string): boolean {
  const processId = Number(/-(\d+)$/u.exec(name)?.[1] ?? Number.NaN);
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // A process of another user cannot be signalled, but exists.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
