import { createHash, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { TransferFailure } from "../model-failure.ts";
import {
  type Exchange,
  type ResponseOverride,
  type ServedManifest,
  sendValidResponse,
} from "./malformed-registry.ts";

/** One way in which a registry can respond incorrectly to requests for one resource. */
export type MalformedResponse = {
  readonly resource: Exchange["resource"];
  readonly respond: (exchange: Exchange) => boolean | Promise<boolean>;
  /** Possible outcomes of a pull when every response is malformed: kinds of failures, or "success". */
  readonly outcomes: readonly PullOutcome[];
  /** A pull still succeeds when only the first response is malformed. */
  readonly isTransient?: true;
};
export type PullOutcome = "success" | TransferFailure["kind"] | "store-full" | "model-file-invalid";

const unreachable: readonly PullOutcome[] = ["registry-unreachable"];
const invalid: readonly PullOutcome[] = ["registry-response-invalid"];
const refused: readonly PullOutcome[] = ["registry-refused"];
const forbidden: readonly PullOutcome[] = ["address-forbidden"];
const corrupted: readonly PullOutcome[] = ["transfer-corrupted"];

const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const chunk = Buffer.alloc(64 * 1024, 0x20);

/** Malforms the first `times` responses for the resource, or all of them. For the token resource, a token is required. */
export function malformFirst(
  { resource, respond }: MalformedResponse,
  times = Number.POSITIVE_INFINITY,
): ResponseOverride {
  return (exchange) =>
    exchange.resource === resource
      ? exchange.earlier < times && respond(exchange)
      : resource === "token" && requireToken(exchange);
}

/** Valid responses, but only with a token. */
export const requireToken: ResponseOverride = (exchange) =>
  exchange.resource !== "token" &&
  exchange.request.headers.authorization === undefined &&
  challenge(exchange);

/** Malformed responses that apply to every resource. */
export function bodyFaults(resource: Exchange["resource"]): Readonly<Record<string, MalformedResponse>> {
  return { ...connectionFaults(resource), ...redirectFaults(resource), ...statusFaults(resource) };
}

function connectionFaults(resource: Exchange["resource"]): Readonly<Record<string, MalformedResponse>> {
  return {
    "an empty body": { outcomes: invalid, resource, respond: (exchange) => send(exchange, { status: 200 }) },
    "a body that ends early": { outcomes: unreachable, isTransient: true, resource, respond: cutInTheMiddle },
    "a reset in the middle": {
      outcomes: unreachable,
      isTransient: true,
      resource,
      respond: resetInTheMiddle,
    },
    "a stall after the headers": {
      outcomes: unreachable,
      isTransient: true,
      resource,
      respond: stallAfterHead,
    },
    "no response at all": { outcomes: unreachable, isTransient: true, resource, respond: () => true },
    "a few bytes a second": {
      outcomes: [...unreachable, ...(resource === "token" ? (["success"] as const) : [])],
      isTransient: true,
      resource,
      respond: drip,
    },
    "a gzip bomb": {
      outcomes: invalid,
      resource,
      respond: (exchange) =>
        send(exchange, { status: 200, headers: { "content-encoding": "gzip" }, body: bomb }),
    },
    "an endless body": { outcomes: [...invalid, ...corrupted], resource, respond: endless },
    "a response that is not HTTP": { outcomes: unreachable, isTransient: true, resource, respond: nonsense },
  };
}

function redirectFaults(resource: Exchange["resource"]): Readonly<Record<string, MalformedResponse>> {
  return {
    "endless redirects": {
      outcomes: forbidden,
      resource,
      respond: (exchange) =>
        send(exchange, { status: 307, headers: { location: `${exchange.request.url}` } }),
    },
    "a redirect to a link-local address": {
      outcomes: forbidden,
      resource,
      respond: (exchange) =>
        send(exchange, { status: 307, headers: { location: "http://169.254.169.254/latest" } }),
    },
    "a redirect to a file": {
      outcomes: forbidden,
      resource,
      respond: (exchange) => send(exchange, { status: 307, headers: { location: "file:///etc/passwd" } }),
    },
    "a redirect without a location": {
      outcomes: [...invalid, ...refused],
      resource,
      respond: (exchange) => send(exchange, { status: 307 }),
    },
  };
}

function statusFaults(resource: Exchange["resource"]): Readonly<Record<string, MalformedResponse>> {
  return {
    "status 500": {
      outcomes: [...refused, ...unreachable],
      isTransient: true,
      resource,
      respond: (exchange) => send(exchange, { status: 500 }),
    },
    "status 503 with Retry-After": {
      outcomes: [...refused, ...unreachable],
      isTransient: true,
      resource,
      respond: (exchange) => send(exchange, { status: 503, headers: { "retry-after": "1" } }),
    },
    "status 429 with a Retry-After of a year": {
      outcomes: [...refused, ...unreachable],
      resource,
      respond: (exchange) => send(exchange, { status: 429, headers: { "retry-after": "31536000" } }),
    },
    "status 403": { outcomes: refused, resource, respond: (exchange) => send(exchange, { status: 403 }) },
    "status 401 for every request": {
      outcomes: refused,
      resource,
      respond: challenge,
    },
  };
}

/** Malformed ranges and content of a blob. */
export const weightsFaults: Readonly<Record<string, MalformedResponse>> = {
  "status 200 with the whole blob for a range": {
    outcomes: ["success"],
    resource: "weights",
    respond: (exchange) => sendValid({ ...exchange, range: undefined }),
  },
  "a different ETag for each range": { outcomes: ["success"], resource: "weights", respond: changeTag },
  "a range with a wrong offset": {
    outcomes: invalid,
    resource: "weights",
    respond: (exchange) => sendWithHead(exchange, { shift: 1 }),
  },
  "a range with a wrong total": {
    outcomes: invalid,
    resource: "weights",
    respond: (exchange) => sendWithHead(exchange, { extraTotal: 7 }),
  },
  "a range without Content-Range": { outcomes: invalid, resource: "weights", respond: omitContentRange },
  "fewer bytes than requested": {
    outcomes: unreachable,
    resource: "weights",
    respond: (exchange) => resize(exchange, -1000),
  },
  "more bytes than requested": {
    outcomes: invalid,
    resource: "weights",
    respond: (exchange) => resize(exchange, 1000),
  },
  "one flipped bit": { outcomes: corrupted, isTransient: true, resource: "weights", respond: flip },
  "wrong content of the right length": {
    outcomes: corrupted,
    isTransient: true,
    resource: "weights",
    respond: (exchange) => sendValid({ ...exchange, content: Buffer.alloc(exchange.content.length, 1) }),
  },
  "storage links that are valid once": { outcomes: ["success"], resource: "weights", respond: linkOnce() },
  "status 416": {
    outcomes: refused,
    resource: "weights",
    respond: (exchange) => send(exchange, { status: 416 }),
  },
  "status 404": {
    outcomes: refused,
    resource: "weights",
    respond: (exchange) => send(exchange, { status: 404 }),
  },
};

/** Well-formed responses with invalid manifests. */
export function manifestFaults(valid: ServedManifest): Readonly<Record<string, MalformedResponse>> {
  const [layer] = valid.layers;
  if (layer === undefined) throw new Error("Cannot malform a manifest without layers");
  return {
    "text that is not JSON": manifestOfText("<html>Please sign in</html>"),
    "JSON that is not a manifest": manifestOfText('{"layers":"none"}'),
    "a number": manifestOfText("1"),
    "900,000 open brackets": manifestOfText("[".repeat(900_000)),
    "100,000 layers": changed(valid, { layers: Array.from({ length: 100_000 }, () => layer) }),
    "a negative size": changed(valid, { layers: [{ ...layer, size: -1 }] }),
    "a size larger than the disk": changed(valid, { layers: [{ ...layer, size: 2 ** 49 }] }, ["store-full"]),
    "a size beyond the safe integers": changed(valid, { layers: [{ ...layer, size: 1e300 }] }),
    "a size that is too small": changed(valid, { layers: [{ ...layer, size: layer.size - 1 }] }),
    "a size that is too large": changed(valid, { layers: [{ ...layer, size: layer.size + 1 }] }),
    "a digest that is a path": changed(valid, {
      layers: [{ ...layer, digest: "sha256:../../../../etc/passwd" }],
    }),
    "a digest of other content": changed(valid, {
      layers: [{ ...layer, digest: `sha256:${"0".repeat(64)}` }],
    }),
    "no layers": changed(valid, { layers: [] }),
    "an old schema": changed(valid, { schemaVersion: 1 }),
  };
}

function changed(
  valid: ServedManifest,
  change: Partial<ServedManifest>,
  ends: readonly PullOutcome[] = invalid,
): MalformedResponse {
  return manifestOfText(JSON.stringify({ ...valid, ...change }), ends);
}

function manifestOfText(text: string, ends: readonly PullOutcome[] = invalid): MalformedResponse {
  return {
    resource: "manifest",
    outcomes: ends,
    respond: (exchange) => sendValid({ ...exchange, content: Buffer.from(text), range: undefined }),
  };
}

function challenge(exchange: Exchange): true {
  const realm = `http://${exchange.request.headers.host}/token`;
  return send(exchange, { status: 401, headers: { "www-authenticate": `Bearer realm="${realm}"` } });
}

function sendValid(exchange: Exchange): true {
  sendValidResponse(exchange);
  return true;
}

type PlainResponse = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
};

function send({ response }: Exchange, { status, headers = {}, body = Buffer.alloc(0) }: PlainResponse): true {
  response.writeHead(status, { "content-length": body.length, ...headers });
  response.end(body);
  return true;
}

/** Writes the headers of a valid response, with changes, and returns the valid body. */
function writeValidHead({ response, content, range }: Exchange, changes: HeadChanges = {}): Buffer {
  const { shift = 0, extraTotal = 0, extraLength = 0, tag = '"same"' } = changes;
  const first = range?.first ?? 0;
  const body = content.subarray(first, range === undefined ? undefined : range.last + 1);
  const last = first + body.length - 1;
  response.writeHead(range === undefined ? 200 : 206, {
    "content-length": body.length + extraLength,
    etag: tag,
    ...(range === undefined
      ? {}
      : {
          "content-range": `bytes ${first + shift}-${last + shift + extraLength}/${content.length + extraTotal}`,
        }),
  });
  return body;
}

type HeadChanges = {
  readonly shift?: number;
  readonly extraTotal?: number;
  readonly extraLength?: number;
  readonly tag?: string;
};

function sendWithHead(exchange: Exchange, changes: HeadChanges): true {
  exchange.response.end(writeValidHead(exchange, changes));
  return true;
}

async function cutInTheMiddle(exchange: Exchange): Promise<true> {
  const body = writeValidHead(exchange);
  exchange.response.write(body.subarray(0, body.length >> 1));
  await sleep(20);
  exchange.response.socket?.end();
  return true;
}

async function resetInTheMiddle(exchange: Exchange): Promise<true> {
  const body = writeValidHead(exchange);
  exchange.response.write(body.subarray(0, body.length >> 1));
  await sleep(20);
  exchange.response.socket?.resetAndDestroy();
  return true;
}

function stallAfterHead(exchange: Exchange): true {
  writeValidHead(exchange);
  exchange.response.flushHeaders();
  return true;
}

/** Slow, but never idle for long enough to time out as idle. */
async function drip(exchange: Exchange): Promise<true> {
  const body = writeValidHead(exchange);
  for (const byte of body) {
    if (exchange.response.destroyed) break;
    exchange.response.write(Buffer.of(byte));
    await sleep(100);
  }
  exchange.response.end();
  return true;
}

async function endless({ response }: Exchange): Promise<true> {
  response.writeHead(200);
  // Ends when the client disconnects, which is expected here.
  await pipeline(Readable.from(forever()), response).catch(() => undefined);
  return true;
}

function* forever(): Generator<Buffer> {
  for (;;) yield chunk;
}

function nonsense({ response }: Exchange): true {
  response.socket?.end("220 mail.example ESMTP\r\n");
  return true;
}

function changeTag(exchange: Exchange): true {
  return sendWithHead(exchange, { tag: `"${exchange.earlier}"` });
}

/** The registry redirects to storage, and each link works once. */
function linkOnce(): MalformedResponse["respond"] {
  const unusedTickets = new Set<string>();
  return (exchange) => {
    const [, ticket] = /\?ticket=(.+)$/u.exec(exchange.request.url ?? "") ?? [];
    if (ticket !== undefined) {
      return unusedTickets.delete(ticket) ? sendValid(exchange) : send(exchange, { status: 403 });
    }
    const digest = createHash("sha256").update(exchange.content).digest("hex");
    const next = randomUUID();
    unusedTickets.add(next);
    const location = `/storage/sha256:${digest}?ticket=${next}`;
    return send(exchange, { status: 307, headers: { location } });
  };
}

function omitContentRange({ response, content, range }: Exchange): boolean {
  if (range === undefined) return false;
  response.writeHead(206);
  response.end(content.subarray(range.first, range.last + 1));
  return true;
}

/** Adds or removes bytes, in the headers as well as in the body. */
function resize(exchange: Exchange, extraLength: number): true {
  const body = writeValidHead(exchange, { extraLength });
  exchange.response.end(
    extraLength < 0 ? body.subarray(0, extraLength) : Buffer.concat([body, Buffer.alloc(extraLength)]),
  );
  return true;
}

function flip(exchange: Exchange): true {
  const body = Buffer.from(writeValidHead(exchange));
  body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1;
  exchange.response.end(body);
  return true;
}
