import { inspectModelFile, type ModelFile, ModelFileError } from "@hearth-and-keep/gguf";
import { modelFailure } from "../model-failure.ts";
import type { OpenableModel } from "../store/model-path.ts";
import { type HeaderFacts, readHeaderFacts } from "./header-facts.ts";
import { LeastRecentlyUsed } from "./least-recently-used.ts";

export type HeaderReader = {
  /** From memory when the same file was read before. */
  readFacts(model: OpenableModel): Promise<HeaderFacts>;
};

export function createHeaderReader(mostRemembered: number): HeaderReader {
  const remembered = new LeastRecentlyUsed<Promise<HeaderFacts>>(mostRemembered);
  return {
    readFacts({ path, fingerprint }) {
      const known = remembered.get(fingerprint);
      if (known !== undefined) return known;
      const reading = inspectModel(path).then(readHeaderFacts);
      remembered.set(fingerprint, reading);
      reading.catch(() => remembered.delete(fingerprint));
      return reading;
    },
  };
}

/** The gate of model files, with its refusals as ours; what the system said of a path stays in the cause. */
export async function inspectModel(path: string): Promise<ModelFile> {
  try {
    return await inspectModelFile(path);
  } catch (cause) {
    if (!(cause instanceof ModelFileError)) throw cause;
    const { kind, sentence } = cause.problem;
    const reason = kind === "unreadable" ? "The file cannot be read" : sentence;
    throw modelFailure({ kind: "model-file-invalid", reason }, { cause });
  }
}
