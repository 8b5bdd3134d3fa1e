import { modelFailure } from "../model-failure.ts";
import { displayModelName, type ModelName } from "../model-name.ts";
import { type Digest, readDigest } from "../store/digest.ts";
import { asFields, parseJson, ShapeError, textField, wholeField } from "../store/json-fields.ts";
import { makeLayer } from "../store/manifest.ts";
import type { RemoteBlob } from "./blob-source.ts";
import { beforeDeadline } from "./deadline.ts";
import { readWhole } from "./map-outbound-error.ts";
import type { Registry } from "./registry-client.ts";
import { repositoryOf } from "./registry-url.ts";
import { type FetchPlan, refusalOf, tryAgain } from "./retry-policy.ts";

/** A file of a repository whose sha256 the hub tells. */
export type HubFile = { readonly path: string; readonly digest: Digest; readonly size: number };

const mostPages = 32;
const mostPageBytes = 4 * 1024 * 1024;
const mostEntries = 10_000;
const longestPath = 1024;
const mostFileBytes = 2 ** 50;
const favourite = "Q4_K_M";
const shardPattern = /^(?<stem>.*)-(?<part>\d{5})-of-(?<parts>\d{5})\.gguf$/iu;

/** The parts of a model in a hub's repository, chosen by the quantisation or the file that the tag names. */
export async function listShards(
  registry: Registry,
  name: ModelName,
  plan: FetchPlan,
): Promise<readonly RemoteBlob[]> {
  const repository = repositoryOf(name);
  const files = await listFiles(
    registry,
    new URL(`/api/models/${repository}/tree/main?recursive=1`, registry.origin),
    plan,
  );
  const shards = chooseShards(files, name.tag);
  if (shards === undefined) {
    throw modelFailure({ kind: "remote-model-missing", model: displayModelName(name) });
  }
  const locate = ({ path }: HubFile): URL =>
    new URL(
      `/${repository}/resolve/main/${path.split("/").map(encodeURIComponent).join("/")}`,
      registry.origin,
    );
  const projector = files.find(({ path }) => /(?:^|\/)mmproj[^/]*\.gguf$/iu.test(path));
  return [
    ...shards.map((file) => ({
      ...makeLayer("model", file),
      name: file.path.split("/").at(-1) ?? "",
      target: locate(file),
    })),
    ...(projector === undefined ? [] : [{ ...makeLayer("projector", projector), target: locate(projector) }]),
  ];
}

/** Every part of one model, in order; undefined when the tag names none that is whole. */
export function chooseShards(files: readonly HubFile[], tag: string): readonly HubFile[] | undefined {
  const models = new Map<string, HubFile[]>();
  for (const file of files) {
    const { stem, parts } = shardPattern.exec(file.path)?.groups ?? {};
    if (stem !== undefined)
      models.set(`${stem}\0${parts}`, [...(models.get(`${stem}\0${parts}`) ?? []), file]);
  }
  const whole = [...models]
    .filter(([key, shards]) => shards.length === Number(key.split("\0")[1]))
    .map(([key, shards]) => ({
      stem: key.split("\0")[0] ?? "",
      shards: shards.toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    }))
    .toSorted((one, other) => (one.stem < other.stem ? -1 : 1));
  const named = (word: string) => whole.find((each) => isNamed(each, word));
  return (tag === "latest" ? (named(favourite) ?? whole[0]) : named(tag))?.shards;
}

/** The tag is a quantisation at the end of the file's name or of its folder, or the name of one of the files. */
function isNamed({ stem, shards }: { stem: string; shards: readonly HubFile[] }, tag: string): boolean {
  const wanted = tag.toLowerCase();
  const places = stem.toLowerCase().split("/");
  const isEnd = places.some(
    (place) =>
      place === wanted || (/[-.]/u.test(place.at(-wanted.length - 1) ?? "") && place.endsWith(wanted)),
  );
  return isEnd || shards.some(({ path }) => path.toLowerCase().split("/").at(-1) === wanted);
}

async function listFiles(registry: Registry, first: URL, plan: FetchPlan): Promise<readonly HubFile[]> {
  const files: HubFile[] = [];
  let next: URL | undefined = first;
  for (let page = 0; next !== undefined; page += 1) {
    const target: URL = next;
    if (page === mostPages) throw invalid(registry, "its list of files has no end");
    const ask = (signal: AbortSignal) => readPage(registry, target, signal);
    const { host } = registry;
    const read = await tryAgain(() => beforeDeadline({ host, signal: plan.signal }, ask), plan);
    files.push(...read.files);
    next = read.next;
  }
  return files;
}

async function readPage(
  registry: Registry,
  target: URL,
  signal: AbortSignal,
): Promise<{ readonly files: readonly HubFile[]; readonly next: URL | undefined }> {
  await using answer = await registry.ask({ target, mostRedirects: 3, signal });
  if (answer.status !== 200) throw await refusalOf(answer);
  const content = await readWhole(answer, mostPageBytes);
  try {
    const entries = parseJson(content);
    if (!Array.isArray(entries) || entries.length > mostEntries) throw new ShapeError("it is not a list");
    return { files: entries.flatMap(readEntry), next: readNext(answer.headers["link"], target) };
  } catch (problem) {
    if (!(problem instanceof ShapeError)) throw problem;
    throw invalid(registry, `its list of files cannot be read: ${problem.message}`);
  }
}

/** Small files have no sha256 here and are passed over. */
function readEntry(value: unknown): readonly HubFile[] {
  const fields = asFields(value, "an entry");
  const path = textField(fields, "path", longestPath) ?? "";
  if (fields["lfs"] === undefined || fields["lfs"] === null) return [];
  const lfs = asFields(fields["lfs"], "lfs");
  const digest = readDigest(`sha256:${textField(lfs, "oid", longestPath) ?? ""}`);
  const size = wholeField(lfs, "size", mostFileBytes);
  const isPlain = path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  return digest === undefined || size === undefined || !isPlain ? [] : [{ path, digest, size }];
}

/** The next page, where it is at the same origin as this one. */
function readNext(header: string | readonly string[] | undefined, current: URL): URL | undefined {
  const found = /<(?<address>[^<>]{1,4096})>\s*;\s*rel="?next"?/u.exec(String(header ?? ""))?.groups?.[
    "address"
  ];
  const next = found === undefined ? null : URL.parse(found, current.href);
  return next?.origin === current.origin ? next : undefined;
}

function invalid({ host }: Registry, reason: string): Error {
  return modelFailure({ kind: "registry-answer-invalid", host, reason });
}
