import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Data in which a secret must not occur. */
export type Haystack = { readonly name: string; readonly content: Buffer };

export type Hit = { readonly source: string; readonly needle: string; readonly encoding: string };

/** The text in every encoding in which it might be stored: raw, base64 at every alignment, hex and UTF-16. */
export function encodingsOf(text: string): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(text);
  const encodings = new Map<string, Buffer>([
    ["raw", bytes],
    ["hex", Buffer.from(bytes.toString("hex"))],
    ["HEX", Buffer.from(bytes.toString("hex").toUpperCase())],
    ["utf-16", Buffer.from(text, "utf16le")],
  ]);
  for (const offset of [0, 1, 2]) {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    // Leaves out characters that also encode bits of adjacent bytes.
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor((padded.length * 8) / 6);
    for (const alphabet of ["base64", "base64url"] as const) {
      encodings.set(`${alphabet} at ${offset}`, Buffer.from(padded.toString(alphabet).slice(first, last)));
    }
  }
  return encodings;
}

export function findCanaries(haystacks: readonly Haystack[], needles: readonly string[]): readonly Hit[] {
  const patterns = needles.flatMap((needle) =>
    [...encodingsOf(needle)].map(([encoding, pattern]) => ({ needle, encoding, pattern })),
  );
  return haystacks.flatMap(({ name, content }) =>
    patterns
      .filter(({ pattern }) => content.includes(pattern))
      .map(({ needle, encoding }) => ({ source: name, needle, encoding })),
  );
}

/** Every file under a folder, with its content. */
export async function readFolder(folder: string): Promise<readonly Haystack[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return { name: path.slice(folder.length + 1), content: await readFile(path) };
      }),
  );
}
