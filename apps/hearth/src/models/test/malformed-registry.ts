import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request to the registry, and the content of a valid response. */
export type Exchange = {
  readonly resource: "manifest" | "config" | "weights" | "token";
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly content: Buffer;
  readonly range: ByteRange | undefined;
  /** Number of earlier requests for the same resource since the override was set. */
  readonly earlier: number;
};
export type ByteRange = { readonly first: number; readonly last: number };

/** Returns true when it handled the request; otherwise a valid response is sent. */
export type ResponseOverride = (exchange: Exchange) => boolean | Promise<boolean>;

export type MalformedRegistry = AsyncDisposable & {
  /** The host in model names. */
  readonly host: string;
  readonly url: string;
  /** Also resets the counts. */
  setOverride(override: ResponseOverride | undefined): void;
  counts(): { readonly requests: number; readonly weightsBytes: number };
};

export type ServedModel = { readonly weights: Buffer; readonly config?: Buffer };

const manifestMediaType = "application/vnd.docker.distribution.manifest.v2+json";

/** A registry with one model under every name and support for ranges and tokens. Overrides replace its responses. */
export async function startMalformedRegistry(model: ServedModel): Promise<MalformedRegistry> {
  const content = contentOf(model);
  const state: RegistryState = { override: undefined, requests: new Map(), weightsBytes: 0 };
  const server = createServer((request, response) => {
    const resource = resourceOf(request.url ?? "", content.weightsDigest);
    const earlier = state.requests.get(resource) ?? 0;
    state.requests.set(resource, earlier + 1);
    const exchange = {
      resource,
      request,
      response,
      content: content[resource],
      range: readRange(request),
      earlier,
    };
    if (resource === "weights") countBytes(response, (bytes) => (state.weightsBytes += bytes));
    void respond(exchange, state.override);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an AddressInfo.
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    setOverride(override) {
      state.override = override;
      state.requests.clear();
      state.weightsBytes = 0;
    },
    counts: () => ({
      requests: [...state.requests.values()].reduce((sum, each) => sum + each, 0),
      weightsBytes: state.weightsBytes,
    }),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

export function manifestOf({ weights, config = defaultConfig }: ServedModel): ServedManifest {
  return {
    schemaVersion: 2,
    mediaType: manifestMediaType,
    config: {
      mediaType: "application/vnd.docker.container.image.v1+json",
      digest: sha256(config),
      size: config.length,
    },
    layers: [
      { mediaType: "application/vnd.ollama.image.model", digest: sha256(weights), size: weights.length },
    ],
  };
}

export type ServedManifest = {
  readonly schemaVersion: number;
  readonly mediaType: string;
  readonly config: ServedLayer;
  readonly layers: readonly ServedLayer[];
};
type ServedLayer = { readonly mediaType: string; readonly digest: string; readonly size: number };

export function sendValidResponse({ resource, request, response, content, range }: Exchange): void {
  const type = resource === "manifest" ? manifestMediaType : "application/octet-stream";
  const body = range === undefined ? content : content.subarray(range.first, range.last + 1);
  response.writeHead(range === undefined ? 200 : 206, {
    "content-type": type,
    "content-length": body.length,
    "accept-ranges": "bytes",
    etag: `"${sha256(content)}"`,
    ...(range === undefined
      ? {}
      : {
          "content-range": `bytes ${range.first}-${range.first + body.length - 1}/${content.length}`,
        }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

export const defaultConfig = Buffer.from(
  '{"model_format":"gguf","model_family":"llama","model_families":["llama"]}',
);

type RegistryState = {
  override: ResponseOverride | undefined;
  readonly requests: Map<string, number>;
  weightsBytes: number;
};
type RegistryContent = Readonly<Record<Exchange["resource"], Buffer>> & { readonly weightsDigest: string };

function contentOf(model: ServedModel): RegistryContent {
  return {
    manifest: Buffer.from(JSON.stringify(manifestOf(model))),
    config: model.config ?? defaultConfig,
    weights: model.weights,
    token: Buffer.from('{"token":"abc"}'),
    weightsDigest: sha256(model.weights),
  };
}

function resourceOf(path: string, weightsDigest: string): Exchange["resource"] {
  if (path.startsWith("/token")) return "token";
  if (path.includes("/manifests/")) return "manifest";
  return path.includes(weightsDigest) ? "weights" : "config";
}

async function respond(exchange: Exchange, override: ResponseOverride | undefined): Promise<void> {
  try {
    if (override === undefined || !(await override(exchange))) sendValidResponse(exchange);
  } catch {
    // The client has disconnected.
    exchange.response.destroy();
  }
}

function countBytes(response: ServerResponse, add: (bytes: number) => void): void {
  const write = response.write.bind(response);
  const end = response.end.bind(response);
  const count = (chunk: unknown): void => {
    if (chunk instanceof Uint8Array) add(chunk.length);
  };
  Object.assign(response, {
    write: (chunk: Uint8Array) => {
      count(chunk);
      return write(chunk);
    },
    end: (chunk?: Uint8Array) => {
      count(chunk);
      return end(chunk);
    },
  });
}

function readRange({ headers }: IncomingMessage): ByteRange | undefined {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/u.exec(headers.range ?? "") ?? [];
  if (first === undefined) return undefined;
  return {
    first: Number(first),
    last: last === undefined || last === "" ? Number.MAX_SAFE_INTEGER : Number(last),
  };
}

function sha256(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
