import { hash } from "node:crypto";
import type { Refusal } from "./access.ts";
import type { StoredFile, StoredRepository } from "./repository.ts";

export type OllamaManifest = {
  /** The bytes to send; their sha256 is the manifest's digest. */
  readonly text: string;
  /** The config blob, which is not a file of the repository. */
  readonly config: string;
};

const layerNames: Readonly<Record<string, string>> = {
  template: "template",
  system: "system",
  params: "params",
};

/**
 * The manifest that the Hub generates for Ollama's clients. The tag is a quantisation or a file name, and "latest"
 * prefers Q4_K_M. A sharded model has none: the Hub responds with 400.
 */
export function makeOllamaManifest(repository: StoredRepository, tag: string): OllamaManifest | Refusal {
  const models = repository.files.filter(({ path }) => path.endsWith(".gguf"));
  if (models.length === 0) return reject("Repository is not GGUF or is not compatible with llama.cpp");
  const model = chooseModel(models, tag);
  if (model === undefined) {
    return reject(`The specified tag is not available in the repository: use another tag or "latest"`);
  }
  if (shardName.test(model.path)) return reject("The specified tag is a sharded GGUF: use another tag");
  const config = JSON.stringify({ model_format: "gguf", file_type: quantisationOf(model.path) ?? "unknown" });
  const extras = repository.files.filter(({ path }) => Object.hasOwn(layerNames, path));
  const text = JSON.stringify({
    schemaVersion: 2,
    mediaType: "application/vnd.docker.distribution.manifest.v2+json",
    config: {
      mediaType: "application/vnd.docker.container.image.v1+json",
      digest: `sha256:${hash("sha256", config)}`,
      size: Buffer.byteLength(config),
    },
    layers: [layer("model", model), ...extras.map((file) => layer(layerNames[file.path] ?? "", file))],
  });
  return { text, config };
}

function reject(message: string): Refusal {
  return { status: 400, message };
}

const shardName = /-\d{5}-of-\d{5}\.gguf$/;

function chooseModel(models: readonly StoredFile[], tag: string): StoredFile | undefined {
  if (tag === "latest") {
    const unsharded = models.filter(({ path }) => !shardName.test(path));
    return unsharded.find(({ path }) => quantisationOf(path) === "Q4_K_M") ?? unsharded[0] ?? models[0];
  }
  return models.find(
    ({ path }) => path.toLowerCase() === tag.toLowerCase() || quantisationOf(path) === tag.toUpperCase(),
  );
}

function quantisationOf(path: string): string | undefined {
  return /[-.]((?:UD-)?(?:I?Q\d\w*|BF16|F16|F32))(?:-\d{5}-of-\d{5})?\.gguf$/i.exec(path)?.[1]?.toUpperCase();
}

function layer(kind: string, file: StoredFile): object {
  const mediaType = `application/vnd.ollama.image.${kind}`;
  return { mediaType, digest: `sha256:${file.sha256}`, size: file.size };
}
