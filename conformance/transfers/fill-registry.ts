/**
 * @module
 * Models on their way between Hearth and real registries: Debian's docker-registry, open, behind tokens and behind
 * a front that redirects, and a server that behaves like the Hugging Face Hub. What counts is that the model answers
 * at the end. Nothing imports from here.
 */
import { readFile } from "node:fs/promises";
import {
  type ModelRegistry,
  pushBlob,
  pushManifest,
  type RegistryRepository,
} from "@hearth-and-keep/test-servers";

/** Puts a GGUF file with Ollama's layers into a registry, as its account. */
export async function fillRegistry(
  registry: ModelRegistry,
  { repository, file }: { readonly repository: string; readonly file: string },
): Promise<void> {
  const place = await openAsAccount(registry, repository);
  const config = await pushBlob(
    place,
    Buffer.from('{"model_format":"gguf","model_family":"llama"}'),
    "application/vnd.docker.container.image.v1+json",
  );
  const model = await pushBlob(place, await readFile(file), "application/vnd.ollama.image.model");
  const parameters = await pushBlob(
    place,
    Buffer.from('{"temperature":0}'),
    "application/vnd.ollama.image.params",
  );
  await pushManifest(place, "latest", { config, layers: [model, parameters] });
}

/** The registry's answer to the first question says whether and where a token is to be had. */
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
  const answer = await fetch(`${realm}?service=${service}&scope=repository:${repository}:pull,push`, {
    headers: { authorization: `Basic ${password}` },
  });
  // The token server is ours and always answers with a token.
  const { token } = (await answer.json()) as { token: string };
  return { address, authorization: `Bearer ${token}` };
}
