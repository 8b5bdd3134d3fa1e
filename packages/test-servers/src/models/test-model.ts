/**
 * @module
 * Model files for tests: SmolLM2 and MiniLM with real weights, a tiny llama and an image projector of random
 * weights, and a corpus of small valid GGUF files to mutate. All are made once into the cache by
 * `scripts/test-models/make-test-models.py`; `models.json` beside it says what each is and its sha256.
 * Promises the very bytes of the manifest: a file that differs is refused, when it is made and when it is used.
 * Imported, through the package's index, by tests, benchmarks and `show`.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder, downloadEnvironment } from "../config.ts";
import { makeOnce } from "../create-once.ts";
import { runPython } from "../python/run-python.ts";
import { refuseOtherContent } from "./refuse-other-content.ts";

export type TestModelName =
  | "smollm2-135m-instruct-q4_1.gguf"
  | "all-minilm-l6-v2-f32.gguf"
  | "tiny-llama.gguf"
  | "tiny-projector.gguf"
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

/** The path of a test model; the first call of all makes every model, a few seconds and two downloads. */
export async function testModel(name: TestModelName): Promise<string> {
  const [path] = await findModels((entry) => entry.file === name);
  if (path === undefined) throw new Error(`Cannot find the test model "${name}" in models.json`);
  return path;
}

/** The paths of the small valid GGUF files that mutation tests start from. */
export async function corpusModels(): Promise<readonly string[]> {
  return findModels((entry) => entry.file.startsWith("corpus/"));
}

async function findModels(isWanted: (entry: ModelEntry) => boolean): Promise<string[]> {
  const written = await readFile(manifest, "utf8");
  // The manifest is committed beside the script that writes it, and its shape is that script's.
  const { models } = JSON.parse(written) as { models: readonly ModelEntry[] };
  const fingerprint = createHash("sha256").update(written).digest("hex").slice(0, 16);
  const folder = await makeOnce({
    path: join(cacheFolder, `models-${fingerprint}`),
    make: (unfinished) => makeModels(unfinished, models),
  });
  const wanted = models.filter(isWanted);
  await refuseOtherContent(folder, wanted);
  return wanted.map(({ file }) => join(folder, file));
}

async function makeModels(folder: string, models: readonly ModelEntry[]): Promise<void> {
  await runPython(script, [folder], { environment: downloadEnvironment(), withinSeconds: 600 });
  await refuseOtherContent(folder, models);
}
