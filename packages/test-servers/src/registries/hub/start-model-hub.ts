/**
 * @module
 * A server that behaves like the Hugging Face Hub towards a client that downloads models: paginated listings, resolve
 * with a redirect to a second host that serves byte ranges behind signed, expiring links, gated and private
 * repositories, and the manifests that the Hub generates for Ollama's clients.
 * It matches the Hub's status codes and headers, not its wording. Imported through the package's index.
 */
import { serveOnLoopback } from "../../loopback-server.ts";
import type { HubGrants } from "./access.ts";
import { startContentServer } from "./content-server.ts";
import { type HubRepository, storeRepository } from "./repository.ts";
import {
  type HubDependencies,
  type HubHandler,
  handleBlob,
  handleCachedFile,
  handleManifest,
  handleResolve,
  handleTree,
} from "./responses.ts";
import type { Exchange } from "./send-file.ts";

export type ModelHubOptions = {
  /** Names of the repositories that each token grants access to. */
  readonly grants?: HubGrants;
  /** Entries per page of a listing; defaults to the Hub's value. */
  readonly pageSize?: number;
  /** Lifetime of a link to the content server. */
  readonly linkSeconds?: number;
};

type HubRequest = {
  readonly server: "hub" | "content";
  readonly method: string;
  readonly path: string;
  readonly range: string | undefined;
  readonly isAuthorized: boolean;
};

export type ModelHub = AsyncDisposable & {
  readonly url: string;
  readonly contentUrl: string;
  /** Points later redirects to another address, e.g. a fault proxy in front of the content server. */
  redirectTo(contentUrl: string): void;
  /** Advances the hub's clock, so that links expire without waiting. */
  passTime(seconds: number): void;
  /** Every request so far, in the order of arrival. */
  requests(): readonly HubRequest[];
};

export async function startModelHub(
  repositories: readonly HubRepository[],
  { grants = {}, pageSize = 1000, linkSeconds = 3600 }: ModelHubOptions = {},
): Promise<ModelHub> {
  const stored = await Promise.all(repositories.map(storeRepository));
  const files = new Map(stored.flatMap((each) => each.files).map((file) => [file.sha256, file]));
  const requests: HubRequest[] = [];
  let passedSeconds = 0;
  await using servers = new AsyncDisposableStack();
  const content = servers.use(
    await startContentServer({
      findBySha256: (sha256) => files.get(sha256),
      nowSeconds: () => Date.now() / 1000 + passedSeconds,
      linkSeconds,
      record: (exchange) => requests.push(describe("content", exchange)),
    }),
  );
  let contentUrl = content.url;
  const dependencies: HubDependencies = {
    contents: { repositories: new Map(stored.map((each) => [each.name, each])), grants },
    pageSize,
    linkTo: (sha256) => `${contentUrl}${content.signLink(sha256)}`,
  };
  const hub = servers.use(
    await serveOnLoopback((request, response) => {
      requests.push(describe("hub", { request, response }));
      return route({ request, response }, dependencies);
    }),
  );
  const owned = servers.move();
  return {
    url: hub.origin,
    contentUrl: content.url,
    redirectTo: (next) => (contentUrl = next),
    passTime: (seconds) => (passedSeconds += seconds),
    requests: () => requests,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function describe(server: "hub" | "content", { request }: Exchange): HubRequest {
  const { method = "", url = "", headers } = request;
  const isAuthorized = headers.authorization !== undefined;
  return { server, method, path: url, range: headers.range, isAuthorized };
}

const name = "(?<name>[^/]+/[^/]+)";
const routes: readonly (readonly [pattern: RegExp, handle: HubHandler])[] = [
  [new RegExp(`^/api/models/${name}/tree/(?<revision>[^/]+)(/(?<rest>.+))?$`), handleTree],
  [new RegExp(`^/api/resolve-cache/models/${name}/(?<revision>[0-9a-f]{40})/(?<rest>.+)$`), handleCachedFile],
  [new RegExp(`^/v2/${name}/manifests/(?<rest>.+)$`), handleManifest],
  [new RegExp(`^/v2/${name}/blobs/sha256:(?<rest>[0-9a-f]{64})$`), handleBlob],
  [new RegExp(`^/${name}/resolve/(?<revision>[^/]+)/(?<rest>.+)$`), handleResolve],
];

function route({ request, response }: Exchange, dependencies: HubDependencies): Promise<void> | void {
  const { pathname } = new URL(request.url ?? "/", "http://127.0.0.1");
  const path = decodeURIComponent(pathname);
  const isRead = request.method === "GET" || request.method === "HEAD";
  for (const [pattern, handle] of isRead ? routes : []) {
    const found = pattern.exec(path)?.groups;
    if (found === undefined) continue;
    const parameters = {
      name: found["name"] ?? "",
      revision: found["revision"] ?? "",
      rest: found["rest"] ?? "",
    };
    return handle({ request, response }, parameters, dependencies);
  }
  response.writeHead(isRead ? 404 : 405).end();
}
