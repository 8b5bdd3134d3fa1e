import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type EnginePreference, enginePreferences } from "./engine-programs.ts";

const fileName = "chosen-engine";

/** The engine set by `hearth engine use`; undefined when none was set or the value is unknown. */
export async function readChosenEngine(folder: string): Promise<EnginePreference | undefined> {
  const stored = await readFile(join(folder, fileName), "utf8").catch(() => "");
  return enginePreferences.find((each) => each === stored.trim());
}

export async function writeChosenEngine(folder: string, preference: EnginePreference): Promise<void> {
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `${fileName}.${process.pid}`);
  await writeFile(temporary, `${preference}\n`);
  await rename(temporary, join(folder, fileName));
}
