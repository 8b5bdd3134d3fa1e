/**
 * @module
 * Model files for tests: SmolLM2 and MiniLM with real weights, the vocabulary of Mistral, a tiny llama with an image and
 * an audio projector of random weights, and a corpus of small valid GGUF files to mutate. All are built once into the
 * cache by `scripts/test-models/make-test-models.py`; `models.json` next to it lists their origin and sha256.
 * Each file is verified against the manifest when it is built and when a run of the test runner first uses it.
 * Imported, through the package's index, by tests, benchmarks and claims.
 */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder, downloadEnvironment, runCacheFolder } from "../config.ts";
import { createOnce } from "../create-once.ts";
import { runPython } from "../python/run-python.ts";
import { verifyContent } from "./refuse-other-content.ts";

export type TestModelName =
  | "smollm2-135m-instruct-q4_1.gguf"
  | "all-minilm-l6-v2-f32.gguf"
  | "mistral-vocabulary.gguf"
  | "tiny-llama.gguf"
  | "tiny-projector.gguf"
  | "tiny-audio-projector.gguf"
  | "all-minilm-l6-v2/config.json"
  | "all-minilm-l6-v2/model.safetensors"
  | "all-minilm-l6-v2/vocab.txt";

export type ModelEntry = {
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
  readonly licence: string;
  readonly origin: string;
};

const script = fileURLToPath(new URL("../../../../scripts/test-models/make-test-models.py", import.meta.url));
const manifest = new URL("../../../../scripts/test-models/models.json", import.meta.url);

/** The path of a test model; the first call builds all models, which takes a few seconds and three downloads. */
export async function testModel(name: TestModelName): Promise<string> {
  const [path] = await findModels((entry) => entry.file === name);
  if (path === undefined) throw new Error(`Cannot find the test model "${name}" in models.json`);
  return path;
}

/** The paths of the small valid GGUF files that mutation tests start from. */
export async function corpusModels(): Promise<readonly string[]> {
  return findModels((entry) => entry.file.startsWith("corpus/"));
}

async function findModels(isRequested: (entry: ModelEntry) => boolean): Promise<string[]> {
  const written = await readFile(manifest, "utf8");
  // The manifest is committed next to the script that writes it in this shape.
  const { models } = JSON.parse(written) as { models: readonly ModelEntry[] };
  const fingerprint = createHash("sha256").update(written).digest("hex").slice(0, 16);
  const folder = await createOnce({
    path: join(cacheFolder, `models-${fingerprint}`),
    create: (unfinished) => buildModels(unfinished, models),
  });
  const requested = models.filter(isRequested);
  for (const entry of requested) await verifyOnce(folder, entry);
  return requested.map(({ file }) => join(folder, file));
}

/** Verifies a file again only if it changed: hashing the weights takes as long as many a test. */
async function verifyOnce(folder: string, entry: ModelEntry): Promise<void> {
  const runCache = runCacheFolder();
  if (runCache === undefined) return verifyContent(folder, [entry]);
  const { ino, size, mtimeMs } = await stat(join(folder, entry.file));
  await createOnce({
    path: join(runCache, `verified-${entry.sha256.slice(0, 16)}-${ino}-${size}-${mtimeMs}`),
    create: () => verifyContent(folder, [entry]),
  });
}

async function buildModels(folder: string, models: readonly ModelEntry[]): Promise<void> {
  await runPython(script, [folder], { environment: downloadEnvironment(), timeoutSeconds: 600 });
  await verifyContent(folder, models);
}
