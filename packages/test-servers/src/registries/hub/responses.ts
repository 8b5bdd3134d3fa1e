import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type HubContents, type HubRequest, isRefusal, openRepository, type Refusal } from "./access.ts";
import { makeOllamaManifest, type OllamaManifest } from "./ollama-manifest.ts";
import type { StoredFile, StoredRepository } from "./repository.ts";
import { type Exchange, sendFile } from "./send-file.ts";
import { listTree } from "./tree-listing.ts";

export type HubDependencies = {
  readonly contents: HubContents;
  readonly pageSize: number;
  /** A signed address of the content on the other host. */
  linkTo(sha256: string): string;
};

/** What a route's pattern found in the path; a part the pattern lacks is empty. */
type RouteWords = { readonly name: string; readonly revision: string; readonly rest: string };

export type HubAnswer = (
  exchange: Exchange,
  words: RouteWords,
  parts: HubDependencies,
) => Promise<void> | void;

export const answerTree: HubAnswer = ({ request, response }, words, parts) => {
  const repository = open(request, { ...words, readsFiles: false }, parts);
  if (isRefusal(repository)) return refuse(response, repository);
  const url = new URL(request.url ?? "/", originOf(request));
  const page = listTree(repository, url.searchParams, { folder: words.rest, pageSize: parts.pageSize });
  if (page.next !== undefined) {
    response.setHeader("link", `<${url.origin}${url.pathname}?${page.next.toString()}>; rel="next"`);
  }
  return sendJson(response, 200, page.entries);
};

/** Large files go to the other host; small ones to another path of this one, with a relative Location. */
export const answerResolve: HubAnswer = ({ request, response }, words, parts) => {
  const repository = open(request, { ...words, readsFiles: true }, parts);
  if (isRefusal(repository)) return refuse(response, repository);
  const file = findFile(repository, words.rest);
  if (isRefusal(file)) return refuse(response, file);
  const isLarge = file.pointerSize !== undefined;
  const cached = `/api/resolve-cache/models/${repository.name}/${repository.commit}/${encodeURI(file.path)}`;
  response.writeHead(isLarge ? 302 : 307, {
    "x-repo-commit": repository.commit,
    "x-linked-size": file.size,
    "x-linked-etag": `"${isLarge ? file.sha256 : file.oid}"`,
    "accept-ranges": "bytes",
    location: isLarge ? parts.linkTo(file.sha256) : `${cached}?etag=%22${file.oid}%22`,
  });
  response.end();
};

export const answerCachedFile: HubAnswer = ({ request, response }, words, parts) => {
  const repository = open(request, { ...words, readsFiles: true }, parts);
  if (isRefusal(repository)) return refuse(response, repository);
  const file = findFile(repository, words.rest);
  if (isRefusal(file)) return refuse(response, file);
  response.setHeader("x-repo-commit", repository.commit);
  return sendFile({ request, response }, file, file.oid);
};

export const answerManifest: HubAnswer = ({ request, response }, words, parts) => {
  const manifest = openManifest(request, words, parts);
  if (isRefusal(manifest)) return refuse(challenge(request, response), manifest);
  response.writeHead(200, {
    "content-type": "application/vnd.docker.distribution.manifest.v2+json",
    "content-length": Buffer.byteLength(manifest.text),
    "docker-content-digest": `sha256:${hash("sha256", manifest.text)}`,
  });
  response.end(request.method === "HEAD" ? undefined : manifest.text);
};

/** Files go to the other host, as with resolve; config blobs exist only here. */
export const answerBlob: HubAnswer = ({ request, response }, words, parts) => {
  const repository = open(request, { ...words, revision: "main", readsFiles: true }, parts);
  if (isRefusal(repository)) return refuse(challenge(request, response), repository);
  const file = repository.files.find(({ sha256 }) => sha256 === words.rest);
  if (file !== undefined) {
    response.writeHead(307, { location: parts.linkTo(file.sha256) }).end();
    return;
  }
  const config = repository.files
    .map(({ path }) => makeOllamaManifest(repository, path))
    .find((manifest) => !isRefusal(manifest) && hash("sha256", manifest.config) === words.rest);
  if (config === undefined || isRefusal(config))
    return refuse(response, { status: 404, message: "Unknown blob" });
  response.writeHead(200, { "content-length": Buffer.byteLength(config.config) });
  response.end(request.method === "HEAD" ? undefined : config.config);
};

function open(
  request: IncomingMessage,
  question: Omit<HubRequest, "authorization">,
  { contents }: HubDependencies,
): StoredRepository | Refusal {
  return openRepository({ ...question, authorization: request.headers.authorization }, contents);
}

function refuse(response: ServerResponse, { status, code, message }: Refusal): void {
  if (code !== undefined) response.setHeader("x-error-code", code);
  response.setHeader("x-error-message", message);
  return sendJson(response, status, { error: message });
}

function originOf(request: IncomingMessage): string {
  return `http://${request.headers.host ?? "127.0.0.1"}`;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(value));
}

function findFile(repository: StoredRepository, path: string): StoredFile | Refusal {
  const file = repository.files.find((candidate) => candidate.path === path);
  return file ?? { status: 404, code: "EntryNotFound", message: "Entry not found" };
}

/** An OCI client reads this on a 401. The Hub gives tokens there to registered keys only, so nothing answers here. */
function challenge(request: IncomingMessage, response: ServerResponse): ServerResponse {
  return response.setHeader("www-authenticate", `Bearer realm="${originOf(request)}/v2/token"`);
}

function openManifest(
  request: IncomingMessage,
  words: RouteWords,
  parts: HubDependencies,
): OllamaManifest | Refusal {
  const repository = open(request, { ...words, revision: "main", readsFiles: true }, parts);
  return isRefusal(repository) ? repository : makeOllamaManifest(repository, words.rest);
}
