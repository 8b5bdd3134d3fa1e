import { createHash, type Hash } from "node:crypto";
import type { EngineRequest, Message } from "@hearth-and-keep/engine";

/** About 10 MB when full. */
const maxPrefixes = 100_000;
const maxLookups = 256;
const blockCharacters = 2048;

/**
 * Maps conversation prefixes to the member that has them cached. A request is recorded under its complete conversation.
 * The next turn starts with the same messages, so its longest known prefix is found by searching from the end.
 */
export class PrefixMap {
  readonly #labels = new Map<string, string>();
  readonly #maxSize: number;

  constructor(maxSize = maxPrefixes) {
    this.#maxSize = maxSize;
  }

  get size(): number {
    return this.#labels.size;
  }

  /** `prefixes` are ordered from the shortest to the longest. */
  find(prefixes: readonly string[]): string | undefined {
    for (const prefix of prefixes.toReversed()) {
      const label = this.#labels.get(prefix);
      if (label !== undefined) return label;
    }
    return undefined;
  }

  record(prefixes: readonly string[], label: string): void {
    const prefix = prefixes.at(-1);
    if (prefix === undefined) return;
    // Deleted and set again, so that the map is ordered by last use.
    this.#labels.delete(prefix);
    this.#labels.set(prefix, label);
    const [oldest] = this.#labels.keys();
    if (this.#labels.size > this.#maxSize && oldest !== undefined) this.#labels.delete(oldest);
  }
}

/** A digest of each prefix of a request, the longest last: per message, or per block of a raw prompt. */
export function prefixesOf({ input, cachePartition }: EngineRequest): readonly string[] {
  const hash = createHash("sha256").update(`${cachePartition}\0${input.type}\0`);
  if (input.type !== "conversation")
    return digestBlocks(hash, input.type === "raw" ? input.prompt : input.prefix);
  const { tools = [], messages } = input.conversation;
  hash.update(JSON.stringify(tools));
  const digests = messages.map((message) => {
    const {
      images = [],
      audio = [],
      ...textFields
    } = message.role === "user" ? message : withoutMedia(message);
    hash.update(`\0${JSON.stringify(textFields)}`);
    for (const { bytes } of [...images, ...audio]) hash.update("\0").update(bytes);
    return digestSoFar(hash);
  });
  return digests.slice(-maxLookups);
}

function withoutMedia<Other extends Message>(message: Other) {
  return { ...message, images: [], audio: [] };
}

function digestBlocks(hash: Hash, prompt: string): readonly string[] {
  const digests: string[] = [];
  for (let start = 0; start < prompt.length; start += blockCharacters) {
    hash.update(prompt.slice(start, start + blockCharacters));
    // A partial block changes as the prompt grows, so it is not a prefix of later requests.
    if (start + blockCharacters <= prompt.length) digests.push(digestSoFar(hash));
  }
  return digests.slice(-maxLookups);
}

function digestSoFar(hash: Hash): string {
  return hash.copy().digest("base64url").slice(0, 22);
}
