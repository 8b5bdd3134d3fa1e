import { createHash, hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { Readable } from "node:stream";

export type HubFileContent = Uint8Array | { readonly fromFile: string };

export type HubRepository = {
  /** "organisation/repository" */
  readonly name: string;
  /**
   * Anyone may list a "gated" repository, but only tokens with access may read its files; a "private" one appears
   * not to exist without access.
   */
  readonly access?: "public" | "gated" | "private";
  /** Content by path. */
  readonly files: Readonly<Record<string, HubFileContent>>;
};

export type StoredFile = {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  /** The git object id: of the content, or of the pointer that git keeps in place of a large file. */
  readonly oid: string;
  /** The length of the pointer, if the file is in large file storage. */
  readonly pointerSize?: number;
  readonly content: HubFileContent;
};

export type StoredRepository = {
  readonly name: string;
  readonly access: "public" | "gated" | "private";
  readonly commit: string;
  readonly files: readonly StoredFile[];
};

export async function storeRepository(repository: HubRepository): Promise<StoredRepository> {
  const names = Object.entries(repository.files).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const files = await Promise.all(names.map(([path, content]) => storeFile(path, content)));
  const commit = hash("sha1", files.map(({ path, oid }) => `${oid} ${path}\n`).join(""));
  return { name: repository.name, access: repository.access ?? "public", commit, files };
}

/** Reads a byte range of a file, both ends included. */
export function readContent(content: HubFileContent, range: { first: number; last: number }): Readable {
  if (content instanceof Uint8Array) return Readable.from([content.subarray(range.first, range.last + 1)]);
  return createReadStream(content.fromFile, { start: range.first, end: range.last });
}

const largeFileBytes = 10 * 1024 * 1024;
const largeFileNames = /\.(gguf|safetensors|bin)$/;

async function storeFile(path: string, content: HubFileContent): Promise<StoredFile> {
  const size = content instanceof Uint8Array ? content.length : (await stat(content.fromFile)).size;
  const sha256 = await sha256Of(content);
  if (!largeFileNames.test(path) && size < largeFileBytes) {
    const bytes = content instanceof Uint8Array ? content : await readFile(content.fromFile);
    return { path, size, sha256, content, oid: gitObjectId(bytes) };
  }
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${size}\n`;
  return { path, size, sha256, content, oid: gitObjectId(Buffer.from(pointer)), pointerSize: pointer.length };
}

async function sha256Of(content: HubFileContent): Promise<string> {
  if (content instanceof Uint8Array) return hash("sha256", content);
  const sum = createHash("sha256");
  for await (const chunk of createReadStream(content.fromFile)) sum.update(chunk);
  return sum.digest("hex");
}

function gitObjectId(content: Uint8Array): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}
