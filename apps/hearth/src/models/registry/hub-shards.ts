import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { modelFailure } from "../model-failure.ts";
import { displayModelName, type ModelName } from "../model-name.ts";
import { type Digest, tryParseDigest } from "../store/digest.ts";
import { createLayer } from "../store/manifest.ts";
import { parseJson, SchemaError } from "../store/parse-json.ts";
import type { RemoteBlob } from "./blob-source.ts";
import { withDeadline } from "./deadline.ts";
import { readBody } from "./map-outbound-error.ts";
import type { Registry } from "./registry-client.ts";
import { repositoryOf } from "./registry-url.ts";
import { type RetryOptions, retry, unexpectedStatus } from "./retry-policy.ts";
import { hubFilesSchema } from "./schema.ts";

/** A file of a Hugging Face repository whose SHA-256 the Hub lists. */
export type HubFile = { readonly path: string; readonly digest: Digest; readonly size: number };

const maxPages = 32;
const maxPageBytes = 4 * 1024 * 1024;
const preferredQuantization = "Q4_K_M";
const shardPattern = /^(?<stem>.*)-(?<shard>\d{5})-of-(?<count>\d{5})\.gguf$/iu;
const validator = Compile(hubFilesSchema);

/** The shards of a split model in a Hub repository, selected by the quantization or file name in the tag. */
export async function listShards(
  registry: Registry,
  name: ModelName,
  options: RetryOptions,
): Promise<readonly RemoteBlob[]> {
  const repository = repositoryOf(name);
  const files = await listFiles(
    registry,
    new URL(`/api/models/${repository}/tree/main?recursive=1`, registry.origin),
    options,
  );
  const shards = chooseShards(files, name.tag);
  if (shards === undefined) {
    throw modelFailure({ kind: "remote-model-not-found", model: displayModelName(name) });
  }
  const locate = ({ path }: HubFile): URL =>
    new URL(
      `/${repository}/resolve/main/${path.split("/").map(encodeURIComponent).join("/")}`,
      registry.origin,
    );
  const projector = files.find(({ path }) => /(?:^|\/)mmproj[^/]*\.gguf$/iu.test(path));
  return [
    ...shards.map((file) => ({
      ...createLayer("model", file),
      name: file.path.split("/").at(-1) ?? "",
      target: locate(file),
    })),
    ...(projector === undefined
      ? []
      : [{ ...createLayer("projector", projector), target: locate(projector) }]),
  ];
}

/** All shards of one model in order; undefined when the tag matches no complete model. */
export function chooseShards(files: readonly HubFile[], tag: string): readonly HubFile[] | undefined {
  const models = new Map<string, HubFile[]>();
  for (const file of files) {
    const { stem, count } = shardPattern.exec(file.path)?.groups ?? {};
    if (stem !== undefined)
      models.set(`${stem}\0${count}`, [...(models.get(`${stem}\0${count}`) ?? []), file]);
  }
  const complete = [...models]
    .filter(([key, shards]) => shards.length === Number(key.split("\0")[1]))
    .map(([key, shards]) => ({
      stem: key.split("\0")[0] ?? "",
      shards: shards.toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    }))
    .toSorted((one, other) => (one.stem < other.stem ? -1 : 1));
  const findByTag = (wanted: string) => complete.find((model) => matchesTag(model, wanted));
  return (tag === "latest" ? (findByTag(preferredQuantization) ?? complete[0]) : findByTag(tag))?.shards;
}

/** The tag is a quantization at the end of the file's or its folder's name, or the name of one of the files. */
function matchesTag({ stem, shards }: { stem: string; shards: readonly HubFile[] }, tag: string): boolean {
  const wanted = tag.toLowerCase();
  const segments = stem.toLowerCase().split("/");
  const isSuffix = segments.some(
    (segment) =>
      segment === wanted || (/[-.]/u.test(segment.at(-wanted.length - 1) ?? "") && segment.endsWith(wanted)),
  );
  return isSuffix || shards.some(({ path }) => path.toLowerCase().split("/").at(-1) === wanted);
}

async function listFiles(registry: Registry, first: URL, options: RetryOptions): Promise<readonly HubFile[]> {
  const files: HubFile[] = [];
  let next: URL | undefined = first;
  for (let page = 0; next !== undefined; page += 1) {
    const target: URL = next;
    if (page === maxPages) throw invalidResponse(registry, `its file list has more than ${maxPages} pages`);
    const fetchOnce = (signal: AbortSignal) => fetchPage(registry, target, signal);
    const { host } = registry;
    const result = await retry(() => withDeadline({ host, signal: options.signal }, fetchOnce), options);
    files.push(...result.files);
    next = result.next;
  }
  return files;
}

async function fetchPage(
  registry: Registry,
  target: URL,
  signal: AbortSignal,
): Promise<{ readonly files: readonly HubFile[]; readonly next: URL | undefined }> {
  await using response = await registry.request({ target, maxRedirects: 3, signal });
  if (response.status !== 200) throw await unexpectedStatus(response);
  const content = await readBody(response, maxPageBytes);
  try {
    const files = parseJson(content, validator).flatMap(toHubFile);
    return { files, next: parseNextLink(response.headers["link"], target) };
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw invalidResponse(registry, `its file list is not valid: ${error.message}`);
  }
}

/** Small files have no SHA-256 in the list and are skipped. */
function toHubFile({ path, lfs }: Static<typeof hubFilesSchema>[number]): readonly HubFile[] {
  const digest = tryParseDigest(`sha256:${lfs?.oid ?? ""}`);
  const size = lfs?.size ?? undefined;
  const isPlain = (path ?? "").split("/").every((part) => part !== "" && part !== "." && part !== "..");
  return digest === undefined || size === undefined || !isPlain ? [] : [{ path: path ?? "", digest, size }];
}

/** The URL of the next page, if it has the same origin as this one. */
function parseNextLink(header: string | readonly string[] | undefined, current: URL): URL | undefined {
  const match = /<(?<url>[^<>]{1,4096})>\s*;\s*rel="?next"?/u.exec(String(header ?? ""));
  const url = match?.groups?.["url"];
  const next = url === undefined ? null : URL.parse(url, current.href);
  return next?.origin === current.origin ? next : undefined;
}

function invalidResponse({ host }: Registry, reason: string): Error {
  return modelFailure({ kind: "registry-response-invalid", host, reason });
}
