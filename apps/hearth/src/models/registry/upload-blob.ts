import { createReadStream } from "node:fs";
import type { OutboundAnswer } from "@hearth-and-keep/outbound-http";
import { modelFailure } from "../model-failure.ts";
import type { FoundBlob } from "../store/blob-store.ts";
import type { Registry, RegistryQuestion } from "./registry-client.ts";
import { isPassing, meaningOf, type Patience, refusalOf, tryAgain, waitBefore } from "./retry-policy.ts";

export type Upload = {
  readonly blob: FoundBlob;
  /** A repository of the same registry that may have the blob, so that it need not be sent. */
  readonly mountFrom?: string;
  readonly patience: Patience;
  readonly signal: AbortSignal;
  /** How far it is; for whoever shows it. */
  readonly meter: { sentBytes: number };
};

/** Where the registry takes the next chunk, and how much it has. */
type Session = { readonly address: URL; readonly offset: number };

const chunkBytes = 64 * 1024 * 1024;
const readBytes = 1024 * 1024;
const chunkIdleSeconds = 60;
/** A registry may read the whole blob again before it says that it is what we say. */
const finishIdleSeconds = 600;
const forgotten = new Set([404, 416]);

/**
 * Sends a blob in chunks, unless the registry has it or can take it from another repository. A chunk that breaks off
 * goes on from what the registry says it has; when it has forgotten the upload, that begins again.
 */
export async function uploadBlob(registry: Registry, upload: Upload): Promise<void> {
  const { blob, meter, patience, signal } = upload;
  if (await hasBlob(registry, upload)) {
    meter.sentBytes = blob.size;
    return;
  }
  let session = await begin(registry, upload);
  for (let failures = 0; session !== "mounted"; ) {
    try {
      while (session.offset < blob.size) session = await sendChunk(registry, upload, session);
      return await finish(registry, upload, session);
    } catch (problem) {
      failures += 1;
      if (!isPassing(problem) || failures >= patience.tries) throw meaningOf(problem);
      await waitBefore(failures, problem, { patience, signal });
      session = (await resume(registry, upload, session)) ?? (await begin(registry, upload));
    }
  }
  meter.sentBytes = blob.size;
}

async function hasBlob(registry: Registry, { blob, patience, signal }: Upload): Promise<boolean> {
  return tryAgain(
    async () => {
      const target = `blobs/${blob.digest}`;
      await using answer = await registry.ask({
        ...pushing,
        target,
        method: "HEAD",
        mostRedirects: 3,
        signal,
      });
      if (answer.status === 200) return true;
      if (answer.status === 404) return false;
      throw await refusalOf(answer);
    },
    { patience, signal },
  );
}

const pushing = { actions: "pull,push" } as const satisfies Partial<RegistryQuestion>;

async function begin(registry: Registry, upload: Upload): Promise<Session | "mounted"> {
  const { blob, mountFrom, patience, signal } = upload;
  const wish = mountFrom === undefined ? "" : `?mount=${blob.digest}&from=${encodeURIComponent(mountFrom)}`;
  return tryAgain(
    async () => {
      const target = `blobs/uploads/${wish}`;
      const headers = { "content-length": "0" };
      await using answer = await registry.ask({ ...pushing, target, method: "POST", headers, signal });
      if (answer.status === 201 && mountFrom !== undefined) return "mounted";
      if (answer.status !== 202) throw await refusalOf(answer);
      return { address: locationOf(registry, answer), offset: 0 };
    },
    { patience, signal },
  );
}

async function sendChunk(registry: Registry, upload: Upload, session: Session): Promise<Session> {
  const { blob, signal } = upload;
  const first = session.offset;
  const last = Math.min(blob.size, first + chunkBytes) - 1;
  await using answer = await registry.ask({
    ...pushing,
    target: session.address,
    method: "PATCH",
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(last - first + 1),
      "content-range": `${first}-${last}`,
    },
    body: () => readChunk(upload, first, last),
    idleSeconds: chunkIdleSeconds,
    signal,
  });
  if (answer.status !== 202) throw await refusalOf(answer, forgotten.has(answer.status));
  return { address: locationOf(registry, answer), offset: last + 1 };
}

async function* readChunk({ blob, meter }: Upload, first: number, last: number): AsyncGenerator<Uint8Array> {
  meter.sentBytes = first;
  for await (const piece of createReadStream(blob.path, {
    start: first,
    end: last,
    highWaterMark: readBytes,
  })) {
    yield piece;
    meter.sentBytes += piece.length;
  }
}

async function finish(registry: Registry, { blob, signal }: Upload, { address }: Session): Promise<void> {
  const target = new URL(address);
  target.searchParams.set("digest", blob.digest);
  await using answer = await registry.ask({
    ...pushing,
    target,
    method: "PUT",
    headers: { "content-length": "0" },
    idleSeconds: finishIdleSeconds,
    signal,
  });
  if (answer.status === 201 || answer.status === 204) return;
  throw await refusalOf(answer, forgotten.has(answer.status));
}

/** What the registry has of an upload that broke off; undefined when it has forgotten it. */
async function resume(
  registry: Registry,
  { blob, signal }: Upload,
  session: Session,
): Promise<Session | undefined> {
  const question = { ...pushing, target: session.address, signal };
  await using answer = await registry.ask(question).catch(() => undefined);
  signal.throwIfAborted();
  const last = /^(?:bytes=)?0-(?<last>\d{1,15})$/u.exec(String(answer?.headers["range"] ?? ""))?.groups?.[
    "last"
  ];
  if (answer === undefined || answer.status !== 204 || last === undefined) return undefined;
  const address = answer.headers["location"] === undefined ? session.address : locationOf(registry, answer);
  // "0-0" is what registries say of an empty one.
  const offset = last === "0" ? 0 : Number(last) + 1;
  return offset > blob.size ? undefined : { address, offset };
}

/** Behind a proxy that ends TLS a registry may not know by which scheme it is spoken to. */
function locationOf({ origin, host }: Registry, { headers, url }: OutboundAnswer): URL {
  const { location } = headers;
  const address = typeof location === "string" ? URL.parse(location, url.href) : null;
  if (address === null) {
    const reason = "it takes an upload and does not say where";
    throw modelFailure({ kind: "registry-answer-invalid", host, reason });
  }
  if (address.host === origin.host) address.protocol = origin.protocol;
  return address;
}
