import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One question to the registry and what an honest answer would hold. */
export type Exchange = {
  readonly part: "manifest" | "config" | "weights" | "token";
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly content: Buffer;
  readonly range: ByteRange | undefined;
  /** How many questions for the same part came before, since the lie was set. */
  readonly earlier: number;
};
export type ByteRange = { readonly first: number; readonly last: number };

/** True when it has answered; the registry is honest otherwise. */
export type Lie = (exchange: Exchange) => boolean | Promise<boolean>;

export type LyingRegistry = AsyncDisposable & {
  /** As names of models begin. */
  readonly host: string;
  readonly url: string;
  /** Counting begins anew. */
  setLie(lie: Lie | undefined): void;
  counts(): { readonly questions: number; readonly weightsBytes: number };
};

export type ServedModel = { readonly weights: Buffer; readonly config?: Buffer };

const manifestMediaType = "application/vnd.docker.distribution.manifest.v2+json";

/** A registry with one model under every name, honest unless it is told how to lie. It knows ranges and tokens. */
export async function startLyingRegistry(model: ServedModel): Promise<LyingRegistry> {
  const parts = partsOf(model);
  const state: RegistryState = { lie: undefined, questions: new Map(), weightsBytes: 0 };
  const server = createServer((request, response) => {
    const part = partOf(request.url ?? "", parts.weightsDigest);
    const earlier = state.questions.get(part) ?? 0;
    state.questions.set(part, earlier + 1);
    const exchange = { part, request, response, content: parts[part], range: readRange(request), earlier };
    if (part === "weights") countBytes(response, (bytes) => (state.weightsBytes += bytes));
    void answer(exchange, state.lie);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A TCP server that listens has an AddressInfo.
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    setLie(lie) {
      state.lie = lie;
      state.questions.clear();
      state.weightsBytes = 0;
    },
    counts: () => ({
      questions: [...state.questions.values()].reduce((sum, each) => sum + each, 0),
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

export function answerHonestly({ part, request, response, content, range }: Exchange): void {
  const type = part === "manifest" ? manifestMediaType : "application/octet-stream";
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

type RegistryState = { lie: Lie | undefined; readonly questions: Map<string, number>; weightsBytes: number };
type Parts = Readonly<Record<Exchange["part"], Buffer>> & { readonly weightsDigest: string };

function partsOf(model: ServedModel): Parts {
  return {
    manifest: Buffer.from(JSON.stringify(manifestOf(model))),
    config: model.config ?? defaultConfig,
    weights: model.weights,
    token: Buffer.from('{"token":"abc"}'),
    weightsDigest: sha256(model.weights),
  };
}

function partOf(path: string, weightsDigest: string): Exchange["part"] {
  if (path.startsWith("/token")) return "token";
  if (path.includes("/manifests/")) return "manifest";
  return path.includes(weightsDigest) ? "weights" : "config";
}

async function answer(exchange: Exchange, lie: Lie | undefined): Promise<void> {
  try {
    if (lie === undefined || !(await lie(exchange))) answerHonestly(exchange);
  } catch {
    // Whoever asked has left.
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
