import { createReadStream } from "node:fs";
import type { OutboundResponse } from "@hearth-and-keep/outbound-http";
import { modelFailure } from "../model-failure.ts";
import type { FoundBlob } from "../store/blob-store.ts";
import type { Registry, RegistryRequest } from "./registry-client.ts";
import {
  isTransient,
  type RetryPolicy,
  retry,
  unexpectedStatus,
  unwrapCause,
  waitBeforeRetry,
} from "./retry-policy.ts";

export type Upload = {
  readonly blob: FoundBlob;
  /** A repository of the same registry that may already have the blob, so that it need not be sent. */
  readonly mountFrom?: string;
  readonly retryPolicy: RetryPolicy;
  readonly signal: AbortSignal;
  /** Updated during the upload for progress reports. */
  readonly progress: { sentBytes: number };
};

/** The URL for the next chunk, and how many bytes the registry has. */
type Session = { readonly address: URL; readonly offset: number };

const chunkBytes = 64 * 1024 * 1024;
const readBytes = 1024 * 1024;
const chunkIdleSeconds = 60;
/** A registry may hash the whole blob before it responds. */
const finishIdleSeconds = 600;
const lostSessionStatuses = new Set([404, 416]);

/**
 * Uploads a blob in chunks, unless the registry already has it or can mount it from another repository. After an
 * interruption the upload resumes at the offset that the registry reports; if the registry has lost the session, the
 * upload starts over.
 */
export async function uploadBlob(registry: Registry, upload: Upload): Promise<void> {
  const { blob, progress, retryPolicy, signal } = upload;
  if (await hasBlob(registry, upload)) {
    progress.sentBytes = blob.size;
    return;
  }
  let session = await startUpload(registry, upload);
  for (let failures = 0; session !== "mounted"; ) {
    try {
      while (session.offset < blob.size) session = await sendChunk(registry, upload, session);
      return await finishUpload(registry, upload, session);
    } catch (error) {
      failures += 1;
      if (!isTransient(error) || failures >= retryPolicy.maxAttempts) throw unwrapCause(error);
      await waitBeforeRetry(failures, error, { retryPolicy, signal });
      session = (await resumeUpload(registry, upload, session)) ?? (await startUpload(registry, upload));
    }
  }
  progress.sentBytes = blob.size;
}

async function hasBlob(registry: Registry, { blob, retryPolicy, signal }: Upload): Promise<boolean> {
  return retry(
    async () => {
      const target = `blobs/${blob.digest}`;
      await using response = await registry.request({
        ...pushScope,
        target,
        method: "HEAD",
        maxRedirects: 3,
        signal,
      });
      if (response.status === 200) return true;
      if (response.status === 404) return false;
      throw await unexpectedStatus(response);
    },
    { retryPolicy, signal },
  );
}

const pushScope = { actions: "pull,push" } as const satisfies Partial<RegistryRequest>;

async function startUpload(registry: Registry, upload: Upload): Promise<Session | "mounted"> {
  const { blob, mountFrom, retryPolicy, signal } = upload;
  const query = mountFrom === undefined ? "" : `?mount=${blob.digest}&from=${encodeURIComponent(mountFrom)}`;
  return retry(
    async () => {
      const target = `blobs/uploads/${query}`;
      const headers = { "content-length": "0" };
      await using response = await registry.request({
        ...pushScope,
        target,
        method: "POST",
        headers,
        signal,
      });
      if (response.status === 201 && mountFrom !== undefined) return "mounted";
      if (response.status !== 202) throw await unexpectedStatus(response);
      return { address: locationOf(registry, response), offset: 0 };
    },
    { retryPolicy, signal },
  );
}

async function sendChunk(registry: Registry, upload: Upload, session: Session): Promise<Session> {
  const { blob, signal } = upload;
  const first = session.offset;
  const last = Math.min(blob.size, first + chunkBytes) - 1;
  await using response = await registry.request({
    ...pushScope,
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
  if (response.status !== 202)
    throw await unexpectedStatus(response, lostSessionStatuses.has(response.status));
  return { address: locationOf(registry, response), offset: last + 1 };
}

async function* readChunk(
  { blob, progress }: Upload,
  first: number,
  last: number,
): AsyncGenerator<Uint8Array> {
  progress.sentBytes = first;
  for await (const bytes of createReadStream(blob.path, {
    start: first,
    end: last,
    highWaterMark: readBytes,
  })) {
    yield bytes;
    progress.sentBytes += bytes.length;
  }
}

async function finishUpload(
  registry: Registry,
  { blob, signal }: Upload,
  { address }: Session,
): Promise<void> {
  const target = new URL(address);
  target.searchParams.set("digest", blob.digest);
  await using response = await registry.request({
    ...pushScope,
    target,
    method: "PUT",
    headers: { "content-length": "0" },
    idleSeconds: finishIdleSeconds,
    signal,
  });
  if (response.status === 201 || response.status === 204) return;
  throw await unexpectedStatus(response, lostSessionStatuses.has(response.status));
}

/** The state of an interrupted upload; undefined when the registry has lost it. */
async function resumeUpload(
  registry: Registry,
  { blob, signal }: Upload,
  session: Session,
): Promise<Session | undefined> {
  await using response = await registry
    .request({ ...pushScope, target: session.address, signal })
    .catch(() => undefined);
  signal.throwIfAborted();
  const match = /^(?:bytes=)?0-(?<last>\d{1,15})$/u.exec(String(response?.headers["range"] ?? ""));
  const last = match?.groups?.["last"];
  if (response === undefined || response.status !== 204 || last === undefined) return undefined;
  const address =
    response.headers["location"] === undefined ? session.address : locationOf(registry, response);
  // Registries report an empty upload as "0-0".
  const offset = last === "0" ? 0 : Number(last) + 1;
  return offset > blob.size ? undefined : { address, offset };
}

/** A registry behind a proxy that terminates TLS may return http URLs, so the scheme of the registry is used. */
function locationOf({ origin, host }: Registry, { headers, url }: OutboundResponse): URL {
  const { location } = headers;
  const address = typeof location === "string" ? URL.parse(location, url.href) : null;
  if (address === null) {
    const reason = "it accepted an upload but returned no valid Location";
    throw modelFailure({ kind: "registry-response-invalid", host, reason });
  }
  if (address.host === origin.host) address.protocol = origin.protocol;
  return address;
}
