/**
 * @module
 * Transfers between Hearth and real registries: Debian's docker-registry without authentication, with tokens and
 * behind a redirecting proxy, and a fake Hugging Face Hub. Each test ends with a chat with the transferred model.
 * Nothing imports from here.
 */
import { readFile } from "node:fs/promises";
import {
  type ModelRegistry,
  pushBlob,
  pushManifest,
  type RegistryRepository,
} from "@hearth-and-keep/test-servers";

/** Pushes a GGUF file with Ollama's layers to a registry, with the registry's account. */
export async function seedRegistry(
  registry: ModelRegistry,
  { repository, file }: { readonly repository: string; readonly file: string },
): Promise<void> {
  const target = await openAsAccount(registry, repository);
  const config = await pushBlob(
    target,
    Buffer.from('{"model_format":"gguf","model_family":"llama"}'),
    "application/vnd.docker.container.image.v1+json",
  );
  const model = await pushBlob(target, await readFile(file), "application/vnd.ollama.image.model");
  const parameters = await pushBlob(
    target,
    Buffer.from('{"temperature":0}'),
    "application/vnd.ollama.image.params",
  );
  await pushManifest(target, "latest", { config, layers: [model, parameters] });
}

/** The challenge in the first response says whether a token is required and where to get it. */
async function openAsAccount(
  { url, account }: ModelRegistry,
  repository: string,
): Promise<RegistryRepository> {
  const address = `${url}/v2/${repository}`;
  const { headers } = await fetch(`${address}/tags/list`);
  const challenge = /^Bearer realm="([^"]+)",service="([^"]+)"/u.exec(headers.get("www-authenticate") ?? "");
  if (challenge === null) return { address };
  const [, realm = "", service = ""] = challenge;
  const password = Buffer.from(`${account.name}:${account.password}`).toString("base64");
  const response = await fetch(`${realm}?service=${service}&scope=repository:${repository}:pull,push`, {
    headers: { authorization: `Basic ${password}` },
  });
  // Our own token server always returns a token.
  const { token } = (await response.json()) as { token: string };
  return { address, authorization: `Bearer ${token}` };
}
