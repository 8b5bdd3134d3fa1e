import { inspectModelFile, type ModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import { LRUCache } from "lru-cache";
import { modelFailure } from "../model-failure.ts";
import type { ResolvedModelFile } from "../store/model-path.ts";
import { type HeaderFacts, readHeaderFacts } from "./header-facts.ts";

export type HeaderReader = {
  /** Cached by fingerprint; failures are not cached. */
  readFacts(model: ResolvedModelFile): Promise<HeaderFacts>;
};

export function createHeaderReader(maxCachedHeaders: number): HeaderReader {
  const cache = new LRUCache<string, Promise<HeaderFacts>>({ max: maxCachedHeaders });
  return {
    readFacts({ path, fingerprint }) {
      const cached = cache.get(fingerprint);
      if (cached !== undefined) return cached;
      const reading = inspectModel(path).then(readHeaderFacts);
      cache.set(fingerprint, reading);
      reading.catch(() => cache.delete(fingerprint));
      return reading;
    },
  };
}

/** Parses and validates a GGUF file; rejections become model failures. System errors, which contain paths, stay in the cause. */
export async function inspectModel(path: string): Promise<ModelFile> {
  try {
    return await inspectModelFile(path);
  } catch (cause) {
    if (!(cause instanceof ModelFileError)) throw cause;
    const { kind, message } = cause.detail;
    const reason = kind === "unreadable" ? "The file cannot be read" : message;
    throw modelFailure({ kind: "model-file-invalid", reason }, { cause });
  }
}
