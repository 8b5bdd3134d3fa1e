import { hash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFaultProxy } from "../../fault-proxy/start-fault-proxy.ts";
import { makeTemporaryFolder } from "../../temporary-folder.ts";
import { pullBlob, pullManifest } from "../registry-client.ts";
import type { HubRepository } from "./repository.ts";
import { type ModelHub, startModelHub } from "./start-model-hub.ts";
import type { TreeEntry } from "./tree-listing.ts";

const model = randomBytes(200_000);
const readme = Buffer.from("# A model\n");
const shards = [randomBytes(1000), randomBytes(1000), randomBytes(500)];

const open: HubRepository = {
  name: "test/open",
  files: {
    "README.md": readme,
    "model-Q4_K_M.gguf": model,
    "model-Q8_0.gguf": randomBytes(3000),
    template: Buffer.from("{{ .Prompt }}"),
    ...Object.fromEntries(
      shards.map((shard, index) => [`F16/model-F16-0000${index + 1}-of-00003.gguf`, shard]),
    ),
  },
};
const gated: HubRepository = { name: "test/gated", access: "gated", files: { "model-Q4_0.gguf": model } };
const hidden: HubRepository = { name: "test/hidden", access: "private", files: { "model-Q4_0.gguf": model } };
const grants = { "token-with-access": ["test/gated", "test/hidden"], "token-without-access": [] };

test("a listing contains every file with its size, git id and the sha256 of large ones", async () => {
  await using hub = await startModelHub([open]);

  const { entries } = await list(hub, "test/open");

  expect(entries.map(({ type, path, size }) => `${type} ${path} ${size}`)).toEqual([
    "directory F16 0",
    "file F16/model-F16-00001-of-00003.gguf 1000",
    "file F16/model-F16-00002-of-00003.gguf 1000",
    "file F16/model-F16-00003-of-00003.gguf 500",
    "file README.md 10",
    "file model-Q4_K_M.gguf 200000",
    "file model-Q8_0.gguf 3000",
    "file template 13",
  ]);
  const large = entries.find(({ path }) => path === "model-Q4_K_M.gguf");
  expect(large?.lfs).toMatchObject({ oid: hash("sha256", model), size: 200_000 });
  const small = entries.find(({ path }) => path === "README.md");
  expect(small?.oid).toBe(hash("sha1", `blob 10\0${readme.toString()}`));
  expect(small?.lfs).toBeUndefined();
});

test("a listing of one folder contains only that folder", async () => {
  await using hub = await startModelHub([open]);

  const top = await fetchJson<TreeEntry[]>(`${hub.url}/api/models/test/open/tree/main`);
  const inside = await fetchJson<TreeEntry[]>(`${hub.url}/api/models/test/open/tree/main/F16`);

  expect(top.map(({ path }) => path)).toEqual([
    "F16",
    "README.md",
    "model-Q4_K_M.gguf",
    "model-Q8_0.gguf",
    "template",
  ]);
  expect(inside).toHaveLength(3);
});

test("a long listing is paginated and contains every file once", async () => {
  const files = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`part-${index}`, readme]));
  await using hub = await startModelHub([{ name: "test/many", files }], { pageSize: 10 });

  const { entries, pages } = await list(hub, "test/many");

  expect(pages).toBe(3);
  expect(new Set(entries.map(({ path }) => path)).size).toBe(25);
});

test("resolve redirects a large file to another host with its size, digest and commit", async () => {
  await using hub = await startModelHub([open]);

  const response = await resolve(hub, "test/open/model-Q4_K_M.gguf");

  expect(response.status).toBe(302);
  expect(response.headers.get("x-linked-size")).toBe("200000");
  expect(response.headers.get("x-linked-etag")).toBe(`"${hash("sha256", model)}"`);
  expect(response.headers.get("x-repo-commit")).toMatch(/^[0-9a-f]{40}$/);
  const location = new URL(response.headers.get("location") ?? "");
  expect(location.origin).toBe(hub.contentUrl);
  expect(location.hostname).not.toBe(new URL(hub.url).hostname);
  expect(hash("sha256", await download(location))).toBe(hash("sha256", model));
});

test("the commit returned by resolve can be used in place of main", async () => {
  await using hub = await startModelHub([open]);
  const commit = (await resolve(hub, "test/open/README.md")).headers.get("x-repo-commit");

  const known = await fetch(`${hub.url}/test/open/resolve/${commit}/README.md`);
  const unknown = await fetch(`${hub.url}/test/open/resolve/other/README.md`);

  expect(await known.text()).toBe(readme.toString());
  expect([unknown.status, unknown.headers.get("x-error-code")]).toEqual([404, "RevisionNotFound"]);
});

test("a small file is served by the hub itself after a relative redirect", async () => {
  await using hub = await startModelHub([open]);

  const response = await resolve(hub, "test/open/README.md");

  expect(response.status).toBe(307);
  expect(response.headers.get("location")).toMatch(
    /^\/api\/resolve-cache\/models\/test\/open\/[0-9a-f]{40}\/README\.md/,
  );
  expect(await (await fetch(`${hub.url}/test/open/resolve/main/README.md`)).text()).toBe(readme.toString());
});

test("a file that does not exist is not found", async () => {
  await using hub = await startModelHub([open]);

  const response = await resolve(hub, "test/open/model-Q2_K.gguf");

  expect([response.status, response.headers.get("x-error-code")]).toEqual([404, "EntryNotFound"]);
});

test("the content host serves requested ranges and reports unsatisfiable ones", async () => {
  await using hub = await startModelHub([open]);
  const link = await linkTo(hub, "test/open/model-Q4_K_M.gguf");

  const middle = await fetch(link, { headers: { range: "bytes=1000-1999" } });
  expect(middle.status).toBe(206);
  expect(middle.headers.get("content-range")).toBe("bytes 1000-1999/200000");
  expect(await bytesOf(middle)).toEqual(model.subarray(1000, 2000));
  const untilEnd = await fetch(link, { headers: { range: "bytes=199000-" } });
  expect(await bytesOf(untilEnd)).toEqual(model.subarray(199_000));
  const last = await fetch(link, { headers: { range: "bytes=-500" } });
  expect(await bytesOf(last)).toEqual(model.subarray(199_500));
  const outside = await fetch(link, { headers: { range: "bytes=200000-" } });
  expect([outside.status, outside.headers.get("content-range")]).toEqual([416, "bytes */200000"]);
  expect(hub.requests().at(-1)).toMatchObject({ server: "content", range: "bytes=200000-" });
});

test("a range is honoured only while the content is unchanged", async () => {
  await using hub = await startModelHub([open]);
  const link = await linkTo(hub, "test/open/model-Q4_K_M.gguf");
  const etag = (await fetch(link, { method: "HEAD" })).headers.get("etag") ?? "";

  const same = await fetch(link, { headers: { range: "bytes=0-9", "if-range": etag } });
  const changed = await fetch(link, { headers: { range: "bytes=0-9", "if-range": '"another"' } });

  expect([same.status, changed.status]).toEqual([206, 200]);
  expect(await bytesOf(changed)).toEqual(model);
});

test("a link expires, and a new one gives access again", async () => {
  await using hub = await startModelHub([open], { linkSeconds: 60 });
  const link = await linkTo(hub, "test/open/model-Q4_K_M.gguf");
  expect((await fetch(link, { method: "HEAD" })).status).toBe(200);

  hub.passTime(61);

  expect((await fetch(link)).status).toBe(403);
  expect(await download(await linkTo(hub, "test/open/model-Q4_K_M.gguf"))).toEqual(model);
});

test("a link with an altered expiry is rejected", async () => {
  await using hub = await startModelHub([open]);
  const link = new URL(await linkTo(hub, "test/open/model-Q4_K_M.gguf"));
  link.searchParams.set("Expires", "99999999999");

  expect((await fetch(link)).status).toBe(403);
});

test("the content host rejects an Authorization header, so a client must drop it on redirect", async () => {
  await using hub = await startModelHub([gated], { grants });
  const headers = { authorization: "Bearer token-with-access" };
  const link = (await resolve(hub, "test/gated/model-Q4_0.gguf", headers)).headers.get("location") ?? "";

  expect((await fetch(link, { headers })).status).toBe(400);
  // fetch follows the redirect and drops the header, since the host changes.
  const followed = await fetch(`${hub.url}/test/gated/resolve/main/model-Q4_0.gguf`, { headers });
  expect(await bytesOf(followed)).toEqual(model);
});

test("anyone can list a gated repository, but reading needs a token with access", async () => {
  await using hub = await startModelHub([gated], { grants });
  const read = async (headers: Record<string, string>): Promise<readonly (string | number | null)[]> => {
    const response = await resolve(hub, "test/gated/model-Q4_0.gguf", headers);
    return [response.status, response.headers.get("x-error-code")];
  };

  expect((await list(hub, "test/gated")).entries).toHaveLength(1);
  expect(await read({})).toEqual([401, "GatedRepo"]);
  expect(await read({ authorization: "Bearer token-without-access" })).toEqual([403, "GatedRepo"]);
  expect(await read({ authorization: "Bearer unknown-token" })).toEqual([401, null]);
  expect(await read({ authorization: "Bearer token-with-access" })).toEqual([302, null]);
});

test("a private repository appears absent without a token that has access", async () => {
  await using hub = await startModelHub([hidden], { grants });
  const status = async (name: string, headers: Record<string, string>): Promise<number> =>
    (await fetch(`${hub.url}/api/models/${name}/tree/main`, { headers })).status;

  for (const name of ["test/hidden", "test/absent"]) {
    expect(await status(name, {})).toBe(401);
    expect(await status(name, { authorization: "Bearer token-without-access" })).toBe(404);
  }
  expect(await status("test/hidden", { authorization: "Bearer token-with-access" })).toBe(200);
});

test("the shards of a model are downloaded one by one and verified by the listing's digests", async () => {
  await using hub = await startModelHub([open]);
  const { entries } = await list(hub, "test/open");
  const found = entries.filter(({ path }) => /-\d{5}-of-\d{5}\.gguf$/.test(path));

  const contents = await Promise.all(
    found.map(async ({ path }) => download(await linkTo(hub, `test/open/${path}`))),
  );

  expect(contents).toEqual(shards);
  expect(contents.map((content) => hash("sha256", content))).toEqual(found.map(({ lfs }) => lfs?.oid));
});

test("an Ollama client gets a manifest whose blobs it can pull", async () => {
  await using hub = await startModelHub([open]);
  const repository = { address: `${hub.url}/v2/test/open` };

  const manifest = await pullManifest(repository, "latest");

  expect(manifest.layers.map(({ mediaType }) => mediaType)).toEqual([
    "application/vnd.ollama.image.model",
    "application/vnd.ollama.image.template",
  ]);
  expect(await pullBlob(repository, manifest.layers[0]?.digest ?? "")).toEqual(model);
  expect(JSON.parse((await pullBlob(repository, manifest.config.digest)).toString())).toEqual({
    model_format: "gguf",
    file_type: "Q4_K_M",
  });
  expect((await pullManifest(repository, "q8_0")).layers[0]?.size).toBe(3000);
});

test("an Ollama client's request for a sharded model or an unknown tag is rejected", async () => {
  await using hub = await startModelHub([open]);
  const manifest = (tag: string): Promise<Response> => fetch(`${hub.url}/v2/test/open/manifests/${tag}`);

  const sharded = await manifest("F16");
  expect([sharded.status, await sharded.text()]).toEqual([400, expect.stringContaining("sharded GGUF")]);
  expect((await manifest("Q2_K")).status).toBe(400);
  expect((await manifest("Q8_0")).status).toBe(200);
});

test("an Ollama client without a token is directed to the token endpoint", async () => {
  await using hub = await startModelHub([gated], { grants });
  const url = `${hub.url}/v2/test/gated/manifests/latest`;

  const rejected = await fetch(url);
  expect(rejected.status).toBe(401);
  expect(rejected.headers.get("www-authenticate")).toBe(`Bearer realm="${hub.url}/v2/token"`);
  expect((await fetch(url, { headers: { authorization: "Bearer token-with-access" } })).status).toBe(200);
});

test("a file on disk is served like one in memory", async () => {
  await using folder = await makeTemporaryFolder("hub-file");
  const path = join(folder.path, "model");
  await writeFile(path, model);
  await using hub = await startModelHub([
    { name: "test/disk", files: { "model-Q4_0.gguf": { fromFile: path } } },
  ]);

  const link = await linkTo(hub, "test/disk/model-Q4_0.gguf");

  expect(await download(link)).toEqual(model);
  expect(await bytesOf(await fetch(link, { headers: { range: "bytes=5-9" } }))).toEqual(
    model.subarray(5, 10),
  );
});

test("a download interrupted on the content host resumes where it stopped", async () => {
  await using hub = await startModelHub([open]);
  await using proxy = await startFaultProxy({
    target: hub.contentUrl,
    faults: [{ kind: "truncate", bodyBytes: 50_000, times: 1 }],
  });
  hub.redirectTo(proxy.url);

  const first = await readUntilError(await linkTo(hub, "test/open/model-Q4_K_M.gguf"));
  expect(first).toHaveLength(50_000);
  const link = await linkTo(hub, "test/open/model-Q4_K_M.gguf");
  const rest = await bytesOf(await fetch(link, { headers: { range: `bytes=${first.length}-` } }));

  expect(Buffer.concat([first, rest])).toEqual(model);
});

test("a stopped hub closes both of its ports", async () => {
  const hub = await startModelHub([open]);
  await hub[Symbol.asyncDispose]();

  await expect(fetch(hub.url)).rejects.toThrow("fetch failed");
  await expect(fetch(hub.contentUrl)).rejects.toThrow("fetch failed");
});

async function list(hub: ModelHub, name: string): Promise<{ entries: TreeEntry[]; pages: number }> {
  const entries: TreeEntry[] = [];
  let url: string | undefined = `${hub.url}/api/models/${name}/tree/main?recursive=1`;
  let pages = 0;
  for (; url !== undefined; pages++) {
    const response: Response = await fetch(url);
    // The shape is what these tests compare with expected values.
    entries.push(...((await response.json()) as TreeEntry[]));
    url = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  }
  return { entries, pages };
}

async function fetchJson<Value>(url: string): Promise<Value> {
  // The caller names the shape and compares it with expected values.
  return (await (await fetch(url)).json()) as Value;
}

function resolve(hub: ModelHub, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${hub.url}/${path.replace(/^([^/]+\/[^/]+)\//, "$1/resolve/main/")}`, {
    headers,
    redirect: "manual",
  });
}

async function linkTo(hub: ModelHub, path: string): Promise<string> {
  return (await resolve(hub, path)).headers.get("location") ?? "";
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

async function download(url: string | URL): Promise<Buffer> {
  return bytesOf(await fetch(url));
}

async function readUntilError(url: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of (await fetch(url)).body ?? []) chunks.push(chunk);
  } catch {
    // The connection was cut; the bytes before it count.
  }
  return Buffer.concat(chunks);
}
