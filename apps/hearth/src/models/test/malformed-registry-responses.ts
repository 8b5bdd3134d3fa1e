import { createHash, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { TransferFailure } from "../model-failure.ts";
import { answerHonestly, type Exchange, type Lie, type ServedManifest } from "./malformed-registry.ts";

/** A registry that tells one lie about one part, always or at first only. */
export type RegistryLie = {
  readonly part: Exchange["part"];
  readonly tell: (exchange: Exchange) => boolean | Promise<boolean>;
  /** How a pull may end when the lie is always told: kinds of failures, or "success". */
  readonly ends: readonly Ending[];
  /** Told once, it does not keep a pull from succeeding. */
  readonly passes?: true;
};
export type Ending = "success" | TransferFailure["kind"] | "store-full" | "model-file-invalid";

const silent: readonly Ending[] = ["registry-unreachable"];
const wrong: readonly Ending[] = ["registry-answer-invalid"];
const refused: readonly Ending[] = ["registry-refused"];
const forbidden: readonly Ending[] = ["address-forbidden"];
const damaged: readonly Ending[] = ["transfer-damaged"];

const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const chunk = Buffer.alloc(64 * 1024, 0x20);

/** The first `times` answers about the lie's part are lies, or all of them. Lies about tokens need who asks for one. */
export function lieAbout({ part, tell }: RegistryLie, times = Number.POSITIVE_INFINITY): Lie {
  return (exchange) =>
    exchange.part === part
      ? exchange.earlier < times && tell(exchange)
      : part === "token" && demandToken(exchange);
}

/** No lie: a registry that answers nobody without a token. */
export const demandToken: Lie = (exchange) =>
  exchange.part !== "token" && exchange.request.headers.authorization === undefined && challenge(exchange);

/** Lies that can be told about any part. */
export function bodyLies(part: Exchange["part"]): Readonly<Record<string, RegistryLie>> {
  return { ...connectionLies(part), ...redirectLies(part), ...statusLies(part) };
}

function connectionLies(part: Exchange["part"]): Readonly<Record<string, RegistryLie>> {
  return {
    "an empty body": { ends: wrong, part, tell: (exchange) => send(exchange, { status: 200 }) },
    "a body that ends in the middle": { ends: silent, passes: true, part, tell: cutInTheMiddle },
    "a reset in the middle": { ends: silent, passes: true, part, tell: resetInTheMiddle },
    "a stall after the head": { ends: silent, passes: true, part, tell: stallAfterHead },
    "no answer at all": { ends: silent, passes: true, part, tell: () => true },
    "a few bytes a second": {
      ends: [...silent, ...(part === "token" ? (["success"] as const) : [])],
      passes: true,
      part,
      tell: drip,
    },
    "a packed bomb": {
      ends: wrong,
      part,
      tell: (exchange) =>
        send(exchange, { status: 200, headers: { "content-encoding": "gzip" }, body: bomb }),
    },
    "a body without end": { ends: [...wrong, ...damaged], part, tell: endless },
    "a head that is no HTTP": { ends: silent, passes: true, part, tell: nonsense },
  };
}

function redirectLies(part: Exchange["part"]): Readonly<Record<string, RegistryLie>> {
  return {
    "redirects without end": {
      ends: forbidden,
      part,
      tell: (exchange) => send(exchange, { status: 307, headers: { location: `${exchange.request.url}` } }),
    },
    "a redirect to this machine's own address": {
      ends: forbidden,
      part,
      tell: (exchange) =>
        send(exchange, { status: 307, headers: { location: "http://169.254.169.254/latest" } }),
    },
    "a redirect to a file": {
      ends: forbidden,
      part,
      tell: (exchange) => send(exchange, { status: 307, headers: { location: "file:///etc/passwd" } }),
    },
    "a redirect to nowhere": {
      ends: [...wrong, ...refused],
      part,
      tell: (exchange) => send(exchange, { status: 307 }),
    },
  };
}

function statusLies(part: Exchange["part"]): Readonly<Record<string, RegistryLie>> {
  return {
    "status 500": {
      ends: [...refused, ...silent],
      passes: true,
      part,
      tell: (exchange) => send(exchange, { status: 500 }),
    },
    "status 503 with Retry-After": {
      ends: [...refused, ...silent],
      passes: true,
      part,
      tell: (exchange) => send(exchange, { status: 503, headers: { "retry-after": "1" } }),
    },
    "status 429 with a Retry-After of a year": {
      ends: [...refused, ...silent],
      part,
      tell: (exchange) => send(exchange, { status: 429, headers: { "retry-after": "31536000" } }),
    },
    "status 403": { ends: refused, part, tell: (exchange) => send(exchange, { status: 403 }) },
    "status 401 again and again": {
      ends: refused,
      part,
      tell: challenge,
    },
  };
}

/** Lies about ranges and bytes of a blob. */
export const weightsLies: Readonly<Record<string, RegistryLie>> = {
  "200 with the whole to a range": {
    ends: ["success"],
    part: "weights",
    tell: (exchange) => respond({ ...exchange, range: undefined }),
  },
  "another ETag for each range": { ends: ["success"], part: "weights", tell: changeTag },
  "a range that begins elsewhere": {
    ends: wrong,
    part: "weights",
    tell: (exchange) => tellHead(exchange, { shift: 1 }),
  },
  "a range of a longer blob": {
    ends: wrong,
    part: "weights",
    tell: (exchange) => tellHead(exchange, { totalMore: 7 }),
  },
  "a range without Content-Range": { ends: wrong, part: "weights", tell: untoldRange },
  "fewer bytes than were asked for": {
    ends: silent,
    part: "weights",
    tell: (exchange) => resize(exchange, -1000),
  },
  "more bytes than were asked for": {
    ends: wrong,
    part: "weights",
    tell: (exchange) => resize(exchange, 1000),
  },
  "one flipped bit": { ends: damaged, passes: true, part: "weights", tell: flip },
  "other content of the same length": {
    ends: damaged,
    passes: true,
    part: "weights",
    tell: (exchange) => respond({ ...exchange, content: Buffer.alloc(exchange.content.length, 1) }),
  },
  "links to storage that hold for one range": { ends: ["success"], part: "weights", tell: linkOnce() },
  "status 416": { ends: refused, part: "weights", tell: (exchange) => send(exchange, { status: 416 }) },
  "status 404": { ends: refused, part: "weights", tell: (exchange) => send(exchange, { status: 404 }) },
};

/** Lies that are told in a well-formed manner. */
export function manifestLies(honest: ServedManifest): Readonly<Record<string, RegistryLie>> {
  const [layer] = honest.layers;
  if (layer === undefined) throw new Error("Cannot lie about a manifest without layers");
  return {
    "text that is no JSON": manifestOfText("<html>Please sign in</html>"),
    "JSON that is no manifest": manifestOfText('{"layers":"none"}'),
    "a number": manifestOfText("1"),
    "brackets without end": manifestOfText("[".repeat(900_000)),
    "100,000 layers": changed(honest, { layers: Array.from({ length: 100_000 }, () => layer) }),
    "a size below zero": changed(honest, { layers: [{ ...layer, size: -1 }] }),
    "a size that no disk has": changed(honest, { layers: [{ ...layer, size: 2 ** 49 }] }, ["store-full"]),
    "a size that no number has": changed(honest, { layers: [{ ...layer, size: 1e300 }] }),
    "a size that is too small": changed(honest, { layers: [{ ...layer, size: layer.size - 1 }] }),
    "a size that is too large": changed(honest, { layers: [{ ...layer, size: layer.size + 1 }] }),
    "a digest that leads elsewhere": changed(honest, {
      layers: [{ ...layer, digest: "sha256:../../../../etc/passwd" }],
    }),
    "a digest of other content": changed(honest, {
      layers: [{ ...layer, digest: `sha256:${"0".repeat(64)}` }],
    }),
    "no layers": changed(honest, { layers: [] }),
    "an old schema": changed(honest, { schemaVersion: 1 }),
  };
}

function changed(
  honest: ServedManifest,
  change: Partial<ServedManifest>,
  ends: readonly Ending[] = wrong,
): RegistryLie {
  return manifestOfText(JSON.stringify({ ...honest, ...change }), ends);
}

function manifestOfText(text: string, ends: readonly Ending[] = wrong): RegistryLie {
  return {
    part: "manifest",
    ends,
    tell: (exchange) => respond({ ...exchange, content: Buffer.from(text), range: undefined }),
  };
}

function challenge(exchange: Exchange): true {
  const realm = `http://${exchange.request.headers.host}/token`;
  return send(exchange, { status: 401, headers: { "www-authenticate": `Bearer realm="${realm}"` } });
}

function respond(exchange: Exchange): true {
  answerHonestly(exchange);
  return true;
}

type PlainAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
};

function send({ response }: Exchange, { status, headers = {}, body = Buffer.alloc(0) }: PlainAnswer): true {
  response.writeHead(status, { "content-length": body.length, ...headers });
  response.end(body);
  return true;
}

/** The head of the honest answer, and its body to do something else with. */
function beginHonestly({ response, content, range }: Exchange, changes: HeadChanges = {}): Buffer {
  const { shift = 0, totalMore = 0, lengthMore = 0, tag = '"same"' } = changes;
  const first = range?.first ?? 0;
  const body = content.subarray(first, range === undefined ? undefined : range.last + 1);
  const last = first + body.length - 1;
  response.writeHead(range === undefined ? 200 : 206, {
    "content-length": body.length + lengthMore,
    etag: tag,
    ...(range === undefined
      ? {}
      : {
          "content-range": `bytes ${first + shift}-${last + shift + lengthMore}/${content.length + totalMore}`,
        }),
  });
  return body;
}

type HeadChanges = {
  readonly shift?: number;
  readonly totalMore?: number;
  readonly lengthMore?: number;
  readonly tag?: string;
};

function tellHead(exchange: Exchange, changes: HeadChanges): true {
  exchange.response.end(beginHonestly(exchange, changes));
  return true;
}

async function cutInTheMiddle(exchange: Exchange): Promise<true> {
  const body = beginHonestly(exchange);
  exchange.response.write(body.subarray(0, body.length >> 1));
  await sleep(20);
  exchange.response.socket?.end();
  return true;
}

async function resetInTheMiddle(exchange: Exchange): Promise<true> {
  const body = beginHonestly(exchange);
  exchange.response.write(body.subarray(0, body.length >> 1));
  await sleep(20);
  exchange.response.socket?.resetAndDestroy();
  return true;
}

function stallAfterHead(exchange: Exchange): true {
  beginHonestly(exchange);
  exchange.response.flushHeaders();
  return true;
}

/** Never silent for long enough to be called silent. */
async function drip(exchange: Exchange): Promise<true> {
  const body = beginHonestly(exchange);
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
  // It ends when the other side hangs up, which is no fault here.
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
  return tellHead(exchange, { tag: `"${exchange.earlier}"` });
}

/** The registry sends to storage, and each link works once. */
function linkOnce(): RegistryLie["tell"] {
  const fresh = new Set<string>();
  return (exchange) => {
    const [, ticket] = /\?ticket=(.+)$/u.exec(exchange.request.url ?? "") ?? [];
    if (ticket !== undefined) {
      return fresh.delete(ticket) ? respond(exchange) : send(exchange, { status: 403 });
    }
    const digest = createHash("sha256").update(exchange.content).digest("hex");
    const next = randomUUID();
    fresh.add(next);
    const location = `/storage/sha256:${digest}?ticket=${next}`;
    return send(exchange, { status: 307, headers: { location } });
  };
}

function untoldRange({ response, content, range }: Exchange): boolean {
  if (range === undefined) return false;
  response.writeHead(206);
  response.end(content.subarray(range.first, range.last + 1));
  return true;
}

/** As many bytes more, or less, as the head says too. */
function resize(exchange: Exchange, lengthMore: number): true {
  const body = beginHonestly(exchange, { lengthMore });
  exchange.response.end(
    lengthMore < 0 ? body.subarray(0, lengthMore) : Buffer.concat([body, Buffer.alloc(lengthMore)]),
  );
  return true;
}

function flip(exchange: Exchange): true {
  const body = Buffer.from(beginHonestly(exchange));
  body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1;
  exchange.response.end(body);
  return true;
}
