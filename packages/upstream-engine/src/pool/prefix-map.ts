import { createHash, type Hash } from "node:crypto";
import type { EngineRequest } from "@hearth-and-keep/engine";

/** About 10 MB when it is full. */
const mostPrefixes = 100_000;
const mostLookups = 256;
const blockCharacters = 2048;

/**
 * Which member has read which beginning of a conversation. A request is kept under all that it said; the next turn
 * begins with the very same, so it is found by looking from its end for the longest beginning that is known.
 */
export class PrefixMap {
  readonly #labels = new Map<string, string>();
  readonly #most: number;

  constructor(most = mostPrefixes) {
    this.#most = most;
  }

  get size(): number {
    return this.#labels.size;
  }

  /** Of prefixes from the shortest to the longest. */
  find(prefixes: readonly string[]): string | undefined {
    for (const prefix of prefixes.toReversed()) {
      const label = this.#labels.get(prefix);
      if (label !== undefined) return label;
    }
    return undefined;
  }

  remember(prefixes: readonly string[], label: string): void {
    const prefix = prefixes.at(-1);
    if (prefix === undefined) return;
    // Set anew, so that the order of the map is the order of use.
    this.#labels.delete(prefix);
    this.#labels.set(prefix, label);
    const [oldest] = this.#labels.keys();
    if (this.#labels.size > this.#most && oldest !== undefined) this.#labels.delete(oldest);
  }
}

/** A digest of each beginning of a request, the longest last: turn by turn, or block by block of a raw prompt. */
export function prefixesOf({ input, cachePartition }: EngineRequest): readonly string[] {
  const hash = createHash("sha256").update(`${cachePartition}\0${input.type}\0`);
  if (input.type !== "conversation")
    return digestBlocks(hash, input.type === "raw" ? input.prompt : input.prefix);
  const { tools = [], messages } = input.conversation;
  hash.update(JSON.stringify(tools));
  const digests = messages.map((message) => {
    const { images = [], ...words } = message.role === "user" ? message : { ...message, images: [] };
    hash.update(`\0${JSON.stringify(words)}`);
    for (const { bytes } of images) hash.update("\0").update(bytes);
    return digestSoFar(hash);
  });
  return digests.slice(-mostLookups);
}

function digestBlocks(hash: Hash, prompt: string): readonly string[] {
  const digests: string[] = [];
  for (let start = 0; start < prompt.length; start += blockCharacters) {
    hash.update(prompt.slice(start, start + blockCharacters));
    // Half a block grows on, so it is the beginning of nothing.
    if (start + blockCharacters <= prompt.length) digests.push(digestSoFar(hash));
  }
  return digests.slice(-mostLookups);
}

function digestSoFar(hash: Hash): string {
  return hash.copy().digest("base64url").slice(0, 22);
}
