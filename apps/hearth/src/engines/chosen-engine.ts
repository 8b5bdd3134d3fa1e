import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type EngineWish, engineWishes } from "./engine-programs.ts";

const fileName = "chosen-engine";

/** What `hearth engine use` wrote down; undefined when nothing was, or when it is no longer understood. */
export async function readChosenEngine(folder: string): Promise<EngineWish | undefined> {
  const written = await readFile(join(folder, fileName), "utf8").catch(() => "");
  return engineWishes.find((each) => each === written.trim());
}

export async function writeChosenEngine(folder: string, wish: EngineWish): Promise<void> {
  await mkdir(folder, { recursive: true });
  const unfinished = join(folder, `${fileName}.${process.pid}`);
  await writeFile(unfinished, `${wish}\n`);
  await rename(unfinished, join(folder, fileName));
}
