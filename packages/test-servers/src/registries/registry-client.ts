import { createHash } from "node:crypto";

/** A repository in a registry, for a minimal client without retries that tests use to push and pull. */
export type RegistryRepository = {
  /** "http://127.0.0.1:5000/v2/organisation/model" */
  readonly address: string;
  readonly authorization?: string;
};

export type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

export type Manifest = {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
};

const manifestMediaType = "application/vnd.docker.distribution.manifest.v2+json";

export function digestOf(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

export async function pushBlob(
  repository: RegistryRepository,
  content: Uint8Array,
  mediaType = "application/octet-stream",
): Promise<Descriptor> {
  const digest = digestOf(content);
  const started = await send(repository, "/blobs/uploads/", { method: "POST" });
  const location = new URL(started.headers.get("location") ?? "", started.url);
  location.searchParams.set("digest", digest);
  const body = Buffer.from(content);
  await send(repository, location, { method: "PUT", body, headers: { "content-type": mediaType } });
  return { mediaType, digest, size: content.length };
}

export async function pushManifest(
  repository: RegistryRepository,
  tag: string,
  content: { readonly config: Descriptor; readonly layers: readonly Descriptor[] },
): Promise<Manifest> {
  const manifest: Manifest = { schemaVersion: 2, mediaType: manifestMediaType, ...content };
  const headers = { "content-type": manifestMediaType };
  await send(repository, `/manifests/${tag}`, { method: "PUT", body: JSON.stringify(manifest), headers });
  return manifest;
}

export async function pullManifest(repository: RegistryRepository, tag: string): Promise<Manifest> {
  const response = await send(repository, `/manifests/${tag}`, { headers: { accept: manifestMediaType } });
  // Tests read only manifests that they pushed themselves.
  return (await response.json()) as Manifest;
}

export async function pullBlob(repository: RegistryRepository, digest: string): Promise<Buffer> {
  const response = await send(repository, `/blobs/${digest}`, {});
  const content = Buffer.from(await response.arrayBuffer());
  const actual = digestOf(content);
  if (actual !== digest) throw new Error(`Cannot pull the blob "${digest}": its content has "${actual}"`);
  return content;
}

async function send(
  repository: RegistryRepository,
  path: string | URL,
  request: RequestInit,
): Promise<Response> {
  const url = typeof path === "string" ? `${repository.address}${path}` : path.href;
  const headers = new Headers(request.headers);
  if (repository.authorization !== undefined) headers.set("authorization", repository.authorization);
  const response = await fetch(url, { ...request, headers });
  if (response.ok) return response;
  throw new Error(
    `Cannot request "${url}" from the registry: it responded with ${response.status} ${await response.text()}`,
  );
}
