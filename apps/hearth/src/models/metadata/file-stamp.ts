import { lstat } from "node:fs";
import { promisify } from "node:util";

/** Three times faster than lstat of node:fs/promises, which matters because listing makes thousands of calls. */
const readStatus = promisify(lstat);

/** A string that changes whenever the file does; rejects when the file does not exist. */
export async function readFileStamp(path: string): Promise<string> {
  const { mtimeNs, ctimeNs, size, ino } = await readStatus(path, { bigint: true });
  return `${mtimeNs}:${ctimeNs}:${size}:${ino}`;
}
