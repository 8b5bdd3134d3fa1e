import { randomBytes } from "node:crypto";
import { writeModel } from "@hearth-and-keep/gguf/testing";
import { type ModelRegistry, startModelRegistry } from "@hearth-and-keep/test-servers";
import { defaultConfig, manifestOf } from "./malformed-registry.ts";

export type SeededRegistry = AsyncDisposable & { readonly url: string; readonly bytes: number };

/** A valid model file of about this size with random weights, which cannot be compressed. */
export function writeRandomModel(bytes: number): Buffer {
  const weights = Math.floor(bytes / 4);
  return writeModel({
    entries: [{ key: "general.architecture", type: "string", value: "llama" }],
    tensors: [{ name: "only", shape: [weights], offset: 0 }],
    content: randomBytes(weights * 4),
  });
}

/** Debian's docker-registry with one model, as `team/model:latest`. */
export async function startSeededRegistry(weights: Buffer): Promise<SeededRegistry> {
  const registry: ModelRegistry = await startModelRegistry();
  try {
    await addToRegistry(registry.url, "model", weights);
  } catch (error) {
    await registry[Symbol.asyncDispose]();
    throw error;
  }
  return {
    url: registry.url,
    bytes: weights.length,
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
}

/** Adds `team/<model>:latest`. */
export async function addToRegistry(url: string, model: string, weights: Buffer): Promise<void> {
  const repository = `${url}/v2/team/${model}`;
  const manifest = manifestOf({ weights });
  await upload(repository, manifest.layers[0]?.digest ?? "", weights);
  await upload(repository, manifest.config.digest, defaultConfig);
  await put(`${repository}/manifests/latest`, Buffer.from(JSON.stringify(manifest)), manifest.mediaType);
}

async function upload(repository: string, digest: string, content: Buffer): Promise<void> {
  const started = await fetch(`${repository}/blobs/uploads/`, { method: "POST" });
  const location = new URL(started.headers.get("location") ?? "", started.url);
  location.searchParams.set("digest", digest);
  await put(location.href, content, "application/octet-stream");
}

async function put(url: string, content: Buffer, mediaType: string): Promise<void> {
  // Copied, because fetch's types require an ArrayBuffer.
  const body = new Uint8Array(content);
  const response = await fetch(url, { method: "PUT", body, headers: { "content-type": mediaType } });
  if (!response.ok) throw new Error(`Cannot seed the registry: status ${response.status}`);
}
