import { readFile } from "node:fs/promises";

export type UnprivilegedAccount = { readonly uid: number; readonly gid: number };

/** The account PostgreSQL runs as when this process is root, which it rejects; undefined for other users. */
export async function findUnprivilegedAccount(): Promise<UnprivilegedAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const line = lines.find(([account]) => account === name);
    if (line !== undefined) return { uid: Number(line[2]), gid: Number(line[3]) };
  }
  throw new Error('Cannot start PostgreSQL as root: neither the account "postgres" nor "nobody" exists');
}
