import { createReadStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { readIdentities } from "./age-file.ts";
import type { RecoveryFile } from "./recover-keys.ts";
import { RecoveryError } from "./recovery-error.ts";

const maxBytes = 64 * 1024;
const privateMode = 0o600;

export async function readRecoveryFiles(paths: readonly string[]): Promise<readonly RecoveryFile[]> {
  return Promise.all(paths.map(async (name) => ({ name, content: await readSmallFile(name) })));
}

export async function readIdentityFiles(paths: readonly string[]): Promise<readonly string[]> {
  const contents = await Promise.all(paths.map(readSmallFile));
  return contents.flatMap((content) => readIdentities(content.toString("utf8")));
}

/** Also from a pipe, whose size is not known before. */
async function readSmallFile(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    // Without an encoding, the chunks of a file are buffers.
    for await (const chunk of createReadStream(path, { end: maxBytes })) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new RecoveryError(`"${path}" cannot be read`, { cause: error });
  }
  const content = Buffer.concat(chunks);
  if (content.length > maxBytes) throw new RecoveryError(`"${path}" is too large for a recovery file`);
  return content;
}

/** Writes all files or none, and replaces none. Returns their names: with several files, a number follows. */
export async function writeRecoveryFiles(
  path: string,
  contents: readonly string[],
): Promise<readonly string[]> {
  const written: string[] = [];
  try {
    for (const [index, content] of contents.entries()) {
      const name = contents.length === 1 ? path : `${path}.${index + 1}`;
      await writeFile(name, content, { mode: privateMode, flag: "wx" });
      written.push(name);
    }
  } catch (error) {
    await Promise.all(written.map((name) => rm(name, { force: true })));
    const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
    throw new RecoveryError(
      exists ? `a file of this name exists; choose another name than "${path}"` : `cannot write "${path}"`,
      { cause: error },
    );
  }
  return written;
}
