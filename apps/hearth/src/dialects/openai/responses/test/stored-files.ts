import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export type StoredFile = { readonly name: string; readonly content: Buffer };

export async function readStoredFiles(folder: string): Promise<readonly StoredFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ name, parentPath }) => ({ name, content: await readFile(join(parentPath, name)) })),
  );
}

/** The names of the files that contain one of the texts, or have it in their name, in any common encoding. */
export function findInClear(files: readonly StoredFile[], texts: readonly string[]): readonly string[] {
  const encodings = ["utf8", "utf16le", "base64", "base64url", "hex"] as const;
  const patterns = texts.flatMap((text) => [
    Buffer.from(text),
    Buffer.from(text, "utf16le"),
    // Base64 of the middle of a text depends on where it begins.
    ...[0, 1, 2].flatMap((skipped) => {
      const middle = Buffer.from(text).subarray(skipped);
      const whole = middle.subarray(0, middle.length - (middle.length % 3));
      return encodings.slice(2).map((encoding) => Buffer.from(whole.toString(encoding)));
    }),
  ]);
  return files
    .filter(({ name, content }) =>
      patterns.some((pattern) => content.includes(pattern) || Buffer.from(name).includes(pattern)),
    )
    .map(({ name }) => name);
}
