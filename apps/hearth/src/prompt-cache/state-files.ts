import { createHash, createHmac, randomUUID } from "node:crypto";
import { ftruncateSync, readSync, writeSync } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { StateOwner } from "@hearth-and-keep/llama-engine";
import {
  decrypt,
  encrypt,
  nonceBytes,
  startDecryption,
  startEncryption,
  tagBytes,
} from "../encryption/authenticated-encryption.ts";
import { deriveKey } from "../encryption/machine-key.ts";
import type { StateDescription, StateStorage, StoredState } from "./stored-state.ts";

const suffix = ".prompt";
const temporarySuffix = ".part";
const stateFile = /^[0-9a-f]{64}\.prompt(?:\.[0-9a-f-]{36}\.part)?$/u;
const lengthBytes = 4;
/** The tokens of the longest contexts take a quarter of it. */
const maxDescriptionBytes = 64 * 1024 * 1024;
/** What is encrypted without a pause: about a millisecond. */
const chunkBytes = 1024 * 1024;

export type FolderLimits = {
  /** Larger files are deleted unread. */
  readonly maxBytes: number;
  /** Files that were not used for longer are deleted. */
  readonly maxIdleMilliseconds: number;
};

/**
 * One encrypted file per state: the length of its description, the description, and the content. The name is a MAC over
 * the owner and the tokens, and the associated data of both, so a file that is changed or renamed cannot be opened. A file
 * appears under its name when it is complete. It is not synced: what a crash of the machine leaves incomplete is deleted.
 */
export class StateFiles implements StateStorage {
  readonly #folder: string;
  readonly #keys: {
    readonly name: Uint8Array;
    readonly description: Uint8Array;
    readonly content: Uint8Array;
  };

  /** The folder must exist. */
  constructor(folder: string, machineKey: Uint8Array) {
    this.#folder = folder;
    this.#keys = {
      name: deriveKey(machineKey, "names of prompt states"),
      description: deriveKey(machineKey, "descriptions of prompt states"),
      content: deriveKey(machineKey, "content of prompt states"),
    };
  }

  /** The states of an earlier process. Files with our names that cannot be used are deleted; others are left alone. */
  async load({ maxBytes, maxIdleMilliseconds }: FolderLimits): Promise<readonly StoredState[]> {
    const loaded: StoredState[] = [];
    for (const entry of await readdir(this.#folder, { withFileTypes: true })) {
      if (!entry.isFile() || !stateFile.test(entry.name)) continue;
      const path = join(this.#folder, entry.name);
      const { size, mtimeMs } = await stat(path);
      const isExpired = Date.now() - mtimeMs > maxIdleMilliseconds;
      const isUsable = entry.name.endsWith(suffix) && size <= maxBytes && !isExpired;
      const name = entry.name.slice(0, -suffix.length);
      const described = isUsable ? await this.#describe(name, size).catch(() => undefined) : undefined;
      if (described === undefined) await rm(path, { force: true });
      else loaded.push({ ...described, name, storedBytes: size, usedAt: mtimeMs });
    }
    return loaded;
  }

  async write(state: StateDescription, descriptor: number): Promise<StoredState> {
    const name = this.#nameOf(state.owner, state.tokens);
    const temporary = `${this.#pathOf(name)}.${randomUUID()}${temporarySuffix}`;
    try {
      const storedBytes = await this.#writeTo(temporary, { ...state, name, descriptor });
      await rename(temporary, this.#pathOf(name));
      return { ...state, name, storedBytes, usedAt: Date.now() };
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async copy(state: StoredState, descriptor: number): Promise<boolean> {
    try {
      await using file = await open(this.#pathOf(state.name), "r");
      await this.#decryptTo(descriptor, { ...state, file });
      return true;
    } catch {
      ftruncateSync(descriptor, 0);
      return false;
    }
  }

  async touch({ name, usedAt }: StoredState): Promise<void> {
    await utimes(this.#pathOf(name), usedAt / 1000, usedAt / 1000).catch(() => undefined);
  }

  async delete({ name }: Pick<StoredState, "name">): Promise<void> {
    await rm(this.#pathOf(name), { force: true });
  }

  #pathOf(name: string): string {
    return join(this.#folder, name + suffix);
  }

  #nameOf({ partition, model }: StateOwner, tokens: Uint32Array): string {
    const digest = createHash("sha256").update(tokens).digest("hex");
    return createHmac("sha256", this.#keys.name)
      .update(JSON.stringify([partition, model, digest]))
      .digest("hex");
  }

  /** Undefined for a file that is damaged, incomplete, or written with another machine key. */
  async #describe(name: string, size: number): Promise<StateDescription | undefined> {
    await using file = await open(this.#pathOf(name), "r");
    const length = (await readExactly(file, 0, lengthBytes)).readUInt32LE();
    if (length > Math.min(size, maxDescriptionBytes)) return undefined;
    const sealed = await readExactly(file, lengthBytes, length);
    const plain = decrypt(this.#keys.description, sealed, name);
    if (plain === undefined) return undefined;
    // Authenticated, so it was written by `#writeTo`.
    const { owner, bytes, tokens } = JSON.parse(plain.toString("utf8")) as WrittenDescription;
    const isComplete = size === lengthBytes + length + nonceBytes + bytes + tagBytes;
    return isComplete ? { owner, bytes, tokens: decodeTokens(tokens) } : undefined;
  }

  /** Returns the size of the file. */
  async #writeTo(
    path: string,
    { name, owner, tokens, bytes, descriptor }: StateDescription & Named & { readonly descriptor: number },
  ): Promise<number> {
    await using file = await open(path, "wx", 0o600);
    const written: WrittenDescription = { owner, bytes, tokens: encodeTokens(tokens) };
    const description = encrypt(this.#keys.description, Buffer.from(JSON.stringify(written)), name);
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32LE(description.length);
    const { nonce, cipher } = startEncryption(this.#keys.content, name);
    await file.writeFile(Buffer.concat([length, description, nonce]));
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (let position = 0; position < bytes; ) {
      const count = readSync(descriptor, chunk, 0, Math.min(chunkBytes, bytes - position), position);
      if (count === 0) throw new Error("The state is shorter than announced");
      await file.writeFile(cipher.update(chunk.subarray(0, count)));
      position += count;
    }
    cipher.final();
    await file.writeFile(cipher.getAuthTag());
    return lengthBytes + description.length + nonceBytes + bytes + tagBytes;
  }

  /** Throws if the content was changed; what it has written must not be used then. */
  async #decryptTo(
    descriptor: number,
    { name, bytes, storedBytes, file }: StoredState & { readonly file: FileHandle },
  ): Promise<void> {
    const start = storedBytes - tagBytes - bytes;
    const nonce = await readExactly(file, start - nonceBytes, nonceBytes);
    const decipher = startDecryption(this.#keys.content, nonce, name);
    decipher.setAuthTag(await readExactly(file, storedBytes - tagBytes, tagBytes));
    ftruncateSync(descriptor, 0);
    for (let position = 0; position < bytes; ) {
      const encrypted = await readExactly(file, start + position, Math.min(chunkBytes, bytes - position));
      writeSync(descriptor, decipher.update(encrypted), 0, encrypted.length, position);
      position += encrypted.length;
    }
    decipher.final();
  }
}

type Named = { readonly name: string };

type WrittenDescription = Pick<StateDescription, "owner" | "bytes"> & { readonly tokens: string };

function encodeTokens(tokens: Uint32Array): string {
  return Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength).toString("base64");
}

function decodeTokens(text: string): Uint32Array {
  // A copy, because the buffer's own memory may not be aligned.
  return new Uint32Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
}

async function readExactly(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  if (bytesRead !== length) throw new Error("The file ends too early");
  return buffer;
}
