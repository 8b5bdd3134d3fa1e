import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Somewhere that a secret could have got to. */
export type Haystack = { readonly name: string; readonly content: Buffer };

export type Hit = { readonly place: string; readonly needle: string; readonly encoding: string };

/** Every way in which a text might lie about: as it is, in base64 wherever it begins, in hexadecimal, in UTF-16. */
export function encodingsOf(text: string): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(text);
  const encodings = new Map<string, Buffer>([
    ["raw", bytes],
    ["hex", Buffer.from(bytes.toString("hex"))],
    ["HEX", Buffer.from(bytes.toString("hex").toUpperCase())],
    ["utf-16", Buffer.from(text, "utf16le")],
  ]);
  for (const offset of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
    // The characters that hold bits of a neighbour are left out.
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor((whole.length * 8) / 6);
    for (const alphabet of ["base64", "base64url"] as const) {
      encodings.set(`${alphabet} at ${offset}`, Buffer.from(whole.toString(alphabet).slice(first, last)));
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
      .map(({ needle, encoding }) => ({ place: name, needle, encoding })),
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
