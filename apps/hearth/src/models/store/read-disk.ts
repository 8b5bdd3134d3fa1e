import { statfs } from "node:fs/promises";

export type Disk = { readonly totalBytes: number; readonly freeBytes: number };

/** The disk that a folder is on; what is reserved for root does not count as free. */
export async function readDisk(folder: string): Promise<Disk> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}
