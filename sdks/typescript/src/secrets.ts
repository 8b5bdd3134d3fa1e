import { KeepError, NotFoundError } from "./errors.ts";
import type { SecretType, SecretValue } from "./responses.ts";

const hidden = "[hidden]";

/** A value that is not printed, inspected or serialized. */
export class Secret {
  readonly path: string;
  readonly version: number;
  readonly type: SecretType;
  #bytes: Uint8Array | undefined;

  constructor({ path, version, type, value, encoding }: Omit<SecretValue, "id" | "note">) {
    this.path = path;
    this.version = version;
    this.type = type;
    this.#bytes = encoding === "base64" ? decodeBase64(value) : new TextEncoder().encode(value);
  }

  /** As text; throws for bytes that are not UTF-8. */
  reveal(): string {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.#read());
    } catch (error) {
      if (error instanceof KeepError) throw error;
      // Without the cause: nothing of the value leaves.
      throw new KeepError("not_text", `The value of ${this.path} is not text: use revealBytes()`);
    }
  }

  revealBytes(): Uint8Array {
    return this.#read().slice();
  }

  /** Overwrites this copy. Text that was revealed stays where the program put it. */
  clear(): void {
    this.#bytes?.fill(0);
    this.#bytes = undefined;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Secret(${JSON.stringify(this.path)}, ${hidden})`;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return `Secret(${JSON.stringify(this.path)}, ${hidden})`;
  }

  #read(): Uint8Array {
    if (this.#bytes === undefined) throw new KeepError("cleared", `The value of ${this.path} was cleared`);
    return this.#bytes;
  }
}

/** Secrets by name; in a subfolder of the one that was read, by the path from there. */
export class Secrets implements Iterable<readonly [name: string, secret: Secret]> {
  readonly #byName: ReadonlyMap<string, Secret>;
  readonly #folder: string;

  constructor(folder: string, byName: ReadonlyMap<string, Secret>) {
    this.#folder = folder;
    this.#byName = byName;
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** Throws when there is none. */
  get(name: string): Secret {
    const secret = this.#byName.get(name);
    if (secret !== undefined) return secret;
    const title = `There is no secret ${JSON.stringify(name)} in ${this.#folder}`;
    const nothing = { detail: undefined, requestId: undefined, retryAfterSeconds: undefined, errors: [] };
    throw new NotFoundError({ status: 404, code: "not_found", title, ...nothing });
  }

  reveal(name: string): string {
    return this.get(name).reveal();
  }

  clear(): void {
    for (const secret of this.#byName.values()) secret.clear();
  }

  [Symbol.iterator](): IterableIterator<readonly [name: string, secret: Secret]> {
    return this.#byName.entries();
  }

  toJSON(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.names.map((name) => [name, hidden]));
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Secrets(${JSON.stringify(this.names)}, ${hidden})`;
  }
}

function decodeBase64(text: string): Uint8Array {
  const binary = atob(text);
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
