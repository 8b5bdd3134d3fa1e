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
  /** A signed URL of the content on the content host. */
  linkTo(sha256: string): string;
};

/** The path parameters of a route; those that its pattern lacks are empty. */
type RouteParameters = { readonly name: string; readonly revision: string; readonly rest: string };

export type HubHandler = (
  exchange: Exchange,
  parameters: RouteParameters,
  dependencies: HubDependencies,
) => Promise<void> | void;

export const handleTree: HubHandler = ({ request, response }, parameters, dependencies) => {
  const repository = open(request, { ...parameters, readsFiles: false }, dependencies);
  if (isRefusal(repository)) return reject(response, repository);
  const url = new URL(request.url ?? "/", originOf(request));
  const page = listTree(repository, url.searchParams, {
    folder: parameters.rest,
    pageSize: dependencies.pageSize,
  });
  if (page.next !== undefined) {
    response.setHeader("link", `<${url.origin}${url.pathname}?${page.next.toString()}>; rel="next"`);
  }
  return sendJson(response, 200, page.entries);
};

/** Redirects large files to the content host, and small ones to another path of this host with a relative Location. */
export const handleResolve: HubHandler = ({ request, response }, parameters, dependencies) => {
  const repository = open(request, { ...parameters, readsFiles: true }, dependencies);
  if (isRefusal(repository)) return reject(response, repository);
  const file = findFile(repository, parameters.rest);
  if (isRefusal(file)) return reject(response, file);
  const isLarge = file.pointerSize !== undefined;
  const cached = `/api/resolve-cache/models/${repository.name}/${repository.commit}/${encodeURI(file.path)}`;
  response.writeHead(isLarge ? 302 : 307, {
    "x-repo-commit": repository.commit,
    "x-linked-size": file.size,
    "x-linked-etag": `"${isLarge ? file.sha256 : file.oid}"`,
    "accept-ranges": "bytes",
    location: isLarge ? dependencies.linkTo(file.sha256) : `${cached}?etag=%22${file.oid}%22`,
  });
  response.end();
};

export const handleCachedFile: HubHandler = ({ request, response }, parameters, dependencies) => {
  const repository = open(request, { ...parameters, readsFiles: true }, dependencies);
  if (isRefusal(repository)) return reject(response, repository);
  const file = findFile(repository, parameters.rest);
  if (isRefusal(file)) return reject(response, file);
  response.setHeader("x-repo-commit", repository.commit);
  return sendFile({ request, response }, file, file.oid);
};

export const handleManifest: HubHandler = ({ request, response }, parameters, dependencies) => {
  const manifest = openManifest(request, parameters, dependencies);
  if (isRefusal(manifest)) return reject(challenge(request, response), manifest);
  response.writeHead(200, {
    "content-type": "application/vnd.docker.distribution.manifest.v2+json",
    "content-length": Buffer.byteLength(manifest.text),
    "docker-content-digest": `sha256:${hash("sha256", manifest.text)}`,
  });
  response.end(request.method === "HEAD" ? undefined : manifest.text);
};

/** Redirects files to the content host, like resolve; config blobs are served here. */
export const handleBlob: HubHandler = ({ request, response }, parameters, dependencies) => {
  const repository = open(request, { ...parameters, revision: "main", readsFiles: true }, dependencies);
  if (isRefusal(repository)) return reject(challenge(request, response), repository);
  const file = repository.files.find(({ sha256 }) => sha256 === parameters.rest);
  if (file !== undefined) {
    response.writeHead(307, { location: dependencies.linkTo(file.sha256) }).end();
    return;
  }
  const config = repository.files
    .map(({ path }) => makeOllamaManifest(repository, path))
    .find((manifest) => !isRefusal(manifest) && hash("sha256", manifest.config) === parameters.rest);
  if (config === undefined || isRefusal(config))
    return reject(response, { status: 404, message: "Unknown blob" });
  response.writeHead(200, { "content-length": Buffer.byteLength(config.config) });
  response.end(request.method === "HEAD" ? undefined : config.config);
};

function open(
  request: IncomingMessage,
  hubRequest: Omit<HubRequest, "authorization">,
  { contents }: HubDependencies,
): StoredRepository | Refusal {
  return openRepository({ ...hubRequest, authorization: request.headers.authorization }, contents);
}

function reject(response: ServerResponse, { status, code, message }: Refusal): void {
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

/** OCI clients read this header on a 401. The Hub issues tokens there only for registered keys, so no route exists. */
function challenge(request: IncomingMessage, response: ServerResponse): ServerResponse {
  return response.setHeader("www-authenticate", `Bearer realm="${originOf(request)}/v2/token"`);
}

function openManifest(
  request: IncomingMessage,
  parameters: RouteParameters,
  dependencies: HubDependencies,
): OllamaManifest | Refusal {
  const repository = open(request, { ...parameters, revision: "main", readsFiles: true }, dependencies);
  return isRefusal(repository) ? repository : makeOllamaManifest(repository, parameters.rest);
}
