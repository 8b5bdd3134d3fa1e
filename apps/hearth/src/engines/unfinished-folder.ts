import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const prefix = "unfinished-";

/** A folder to make something in, gone when the scope ends; what earlier runs left behind when they were killed goes too. */
export async function openUnfinishedFolder(
  folder: string,
  name: string,
): Promise<AsyncDisposable & { readonly path: string }> {
  await mkdir(folder, { recursive: true });
  const abandoned = (await readdir(folder)).filter((each) => each.startsWith(prefix) && !isAlive(each));
  for (const each of abandoned) await rm(join(folder, each), { recursive: true, force: true });
  const path = join(folder, `${prefix}${name}-${process.pid}`);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Its name ends with who makes it. */
function isAlive(name: string): boolean {
  const maker = Number(/-(\d+)$/u.exec(name)?.[1] ?? Number.NaN);
  try {
    process.kill(maker, 0);
    return true;
  } catch (problem) {
    // Somebody else's process may not be asked, and is alive.
    return problem instanceof Error && "code" in problem && problem.code === "EPERM";
  }
}
