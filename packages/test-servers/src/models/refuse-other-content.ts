import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

type ExpectedFile = { readonly file: string; readonly sha256: string };

/** Throws unless every file exists with exactly the expected content. */
export async function verifyContent(folder: string, expected: readonly ExpectedFile[]): Promise<void> {
  for (const { file, sha256 } of expected) {
    const found = await digest(join(folder, file));
    if (found !== sha256) {
      throw new Error(`Cannot use "${file}" of "${folder}": its sha256 is ${found}, expected ${sha256}`);
    }
  }
}

async function digest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest("hex");
}
