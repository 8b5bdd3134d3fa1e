import { lstat } from "node:fs";
import { promisify } from "node:util";

/** A third of the time that the same call of node:fs/promises takes, and there are thousands. */
const readStatus = promisify(lstat);

/** Changes with the file; rejects when there is none. */
export async function markFile(path: string): Promise<string> {
  const { mtimeNs, ctimeNs, size, ino } = await readStatus(path, { bigint: true });
  return `${mtimeNs}:${ctimeNs}:${size}:${ino}`;
}
