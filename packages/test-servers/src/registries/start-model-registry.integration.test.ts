import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { digestOf, pullBlob, pullManifest, pushBlob, pushManifest } from "./registry-client.ts";
import { type ModelRegistry, startModelRegistry } from "./start-model-registry.ts";

const content = randomBytes(300_000);

test("a pushed model is pulled back byte for byte", async () => {
  await using registry = await startModelRegistry();
  const repository = repositoryOf(registry);
  const config = await pushBlob(repository, Buffer.from('{"model_format":"gguf"}'));
  const layer = await pushBlob(repository, content, "application/vnd.ollama.image.model");
  const pushed = await pushManifest(repository, "latest", { config, layers: [layer] });

  expect(await pullManifest(repository, "latest")).toEqual(pushed);
  expect((await pullBlob(repository, layer.digest)).equals(content)).toBe(true);
});

test("a byte range of a blob is served", async () => {
  await using registry = await startModelRegistry();
  const { digest } = await pushBlob(repositoryOf(registry), content);

  const response = await fetch(`${repositoryOf(registry).address}/blobs/${digest}`, {
    headers: { range: "bytes=100-199" },
  });

  expect(response.status).toBe(206);
  expect(Buffer.from(await response.arrayBuffer())).toEqual(content.subarray(100, 200));
});

test("a blob with a wrong digest is rejected, with its own it is accepted", async () => {
  await using registry = await startModelRegistry();
  const { address } = repositoryOf(registry);

  expect(await putBlob(address, digestOf(Buffer.from("something else")))).toBe(400);
  expect(await putBlob(address, digestOf(content))).toBe(201);
});

test("a deleted blob is gone, others stay", async () => {
  await using registry = await startModelRegistry();
  const repository = repositoryOf(registry);
  const deleted = await pushBlob(repository, content);
  const kept = await pushBlob(repository, Buffer.from("kept"));

  const response = await fetch(`${repository.address}/blobs/${deleted.digest}`, { method: "DELETE" });

  expect(response.status).toBe(202);
  await expect(pullBlob(repository, deleted.digest)).rejects.toThrow("404");
  expect((await pullBlob(repository, kept.digest)).toString()).toBe("kept");
});

test("a registry with a password requires it and accepts only the right one", async () => {
  await using registry = await startModelRegistry({ authentication: "basic" });
  const { address } = repositoryOf(registry);

  const anonymous = await fetch(`${address}/tags/list`);
  expect(anonymous.status).toBe(401);
  expect(anonymous.headers.get("www-authenticate")).toBe('Basic realm="test-registry"');
  await expect(
    pushBlob({ address, authorization: basic(registry.account.name, "wrong") }, content),
  ).rejects.toThrow("401");

  const repository = { address, authorization: basic(registry.account.name, registry.account.password) };
  const { digest } = await pushBlob(repository, content);
  expect((await pullBlob(repository, digest)).equals(content)).toBe(true);
});

test("a registry with tokens lets anyone pull and only the account push", async () => {
  await using registry = await startModelRegistry({ authentication: "token" });
  const { address } = repositoryOf(registry);
  const account = basic(registry.account.name, registry.account.password);

  const mayPush = { address, authorization: await fetchToken(address, "pull,push", account) };
  const { digest } = await pushBlob(mayPush, content);

  const mayPull = { address, authorization: await fetchToken(address, "pull") };
  expect((await pullBlob(mayPull, digest)).equals(content)).toBe(true);
  const anonymousPush = { address, authorization: await fetchToken(address, "pull,push") };
  await expect(pushBlob(anonymousPush, content)).rejects.toThrow("401");
  await expect(fetchToken(address, "pull", basic(registry.account.name, "wrong"))).rejects.toThrow("401");
});

test("a token for one repository does not grant access to another", async () => {
  await using registry = await startModelRegistry({ authentication: "token" });
  const authorization = await fetchToken(repositoryOf(registry).address, "pull");

  const own = await fetch(`${registry.url}/v2/test/model/tags/list`, { headers: { authorization } });
  const other = await fetch(`${registry.url}/v2/test/other/tags/list`, { headers: { authorization } });

  // 404: the token is accepted and the repository does not exist yet.
  expect([own.status, other.status]).toEqual([404, 401]);
});

test("a stopped registry leaves no process, port or folder", async () => {
  const registry = await startModelRegistry({ authentication: "token" });
  const { realm } = await readChallenge(repositoryOf(registry).address);
  await registry[Symbol.asyncDispose]();

  await expect(fetch(registry.url)).rejects.toThrow("fetch failed");
  await expect(fetch(realm)).rejects.toThrow("fetch failed");
  expect(existsSync(registry.folder)).toBe(false);
});

function repositoryOf(registry: ModelRegistry): { address: string } {
  return { address: `${registry.url}/v2/test/model` };
}

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
}

async function putBlob(address: string, digest: string): Promise<number> {
  const started = await fetch(`${address}/blobs/uploads/`, { method: "POST" });
  const location = `${started.headers.get("location")}&digest=${digest}`;
  return (await fetch(location, { method: "PUT", body: content })).status;
}

type Challenge = { readonly realm: string; readonly service: string };

async function readChallenge(address: string): Promise<Challenge> {
  const rejected = await fetch(`${address}/tags/list`);
  const [, realm = "", service = ""] =
    /^Bearer realm="([^"]+)",service="([^"]+)"/.exec(rejected.headers.get("www-authenticate") ?? "") ?? [];
  return { realm, service };
}

async function fetchToken(address: string, actions: string, authorization?: string): Promise<string> {
  const { realm, service } = await readChallenge(address);
  const url = `${realm}?service=${service}&scope=repository:test/model:${actions}`;
  const response = await fetch(url, { headers: authorization === undefined ? {} : { authorization } });
  if (!response.ok) throw new Error(`Cannot get a token: ${response.status}`);
  // Our own token server always returns a token.
  const { token } = (await response.json()) as { token: string };
  return `Bearer ${token}`;
}
