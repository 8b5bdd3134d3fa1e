import { randomBytes } from "node:crypto";
import { writeModel } from "@hearth-and-keep/gguf/testing";
import { type ModelRegistry, startModelRegistry } from "@hearth-and-keep/test-servers";
import { defaultConfig, manifestOf } from "./malformed-registry.ts";

export type StockedRegistry = AsyncDisposable & { readonly url: string; readonly bytes: number };

/** A model file that passes the gate and has about so many bytes, which nothing can compress or guess. */
export function writeRandomModel(bytes: number): Buffer {
  const weights = Math.floor(bytes / 4);
  return writeModel({
    entries: [{ key: "general.architecture", type: "string", value: "llama" }],
    tensors: [{ name: "only", shape: [weights], offset: 0 }],
    content: randomBytes(weights * 4),
  });
}

/** Debian's docker-registry with one model of that size, as `team/model:latest`. */
export async function startStockedRegistry(weights: Buffer): Promise<StockedRegistry> {
  const registry: ModelRegistry = await startModelRegistry();
  const repository = `${registry.url}/v2/team/model`;
  const manifest = manifestOf({ weights });
  try {
    await upload(repository, manifest.layers[0]?.digest ?? "", weights);
    await upload(repository, manifest.config.digest, defaultConfig);
    await put(`${repository}/manifests/latest`, Buffer.from(JSON.stringify(manifest)), manifest.mediaType);
  } catch (problem) {
    await registry[Symbol.asyncDispose]();
    throw problem;
  }
  return {
    url: registry.url,
    bytes: weights.length,
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
}

async function upload(repository: string, digest: string, content: Buffer): Promise<void> {
  const begun = await fetch(`${repository}/blobs/uploads/`, { method: "POST" });
  const location = new URL(begun.headers.get("location") ?? "", begun.url);
  location.searchParams.set("digest", digest);
  await put(location.href, content, "application/octet-stream");
}

async function put(url: string, content: Buffer, mediaType: string): Promise<void> {
  // A view of its own, as fetch's types ask for.
  const body = new Uint8Array(content);
  const answer = await fetch(url, { method: "PUT", body, headers: { "content-type": mediaType } });
  if (!answer.ok) throw new Error(`Cannot stock the registry: it answers ${answer.status}`);
}
