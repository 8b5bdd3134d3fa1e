import { FailureError } from "@hearth-and-keep/failures";
import type { OutboundResponse } from "@hearth-and-keep/outbound-http";
import { modelFailure } from "../model-failure.ts";
import type { Layer } from "../store/manifest.ts";
import type { Registry } from "./registry-client.ts";
import { TransientError, unexpectedStatus } from "./retry-policy.ts";

/** A layer and the location of its content: a path relative to the repository, or a URL. */
export type RemoteBlob = Layer & { readonly target: string | URL };

/** Byte offsets in a blob, both inclusive. */
export type ByteRange = { readonly first: number; readonly last: number };

/** The range that the server sends: the requested one, or the full blob when it does not support ranges. */
export type OpenRange = AsyncDisposable & {
  readonly range: ByteRange;
  readonly isFullBlob: boolean;
  readonly body: AsyncIterable<Uint8Array>;
};

export type BlobSource = {
  readonly host: string;
  open(
    range: ByteRange,
    options: { readonly signal: AbortSignal; readonly idleSeconds: number },
  ): Promise<OpenRange>;
};

const maxRedirects = 5;

/**
 * A blob at its registry or at the storage that the registry redirects to. The redirect is cached, because storage
 * links stay valid for a while, and requested again after an error. Content whose length differs from the manifest is
 * rejected.
 */
export function openBlobSource(
  registry: Registry,
  { target, size }: { readonly target: string | URL; readonly size: number },
): BlobSource {
  let storage: URL | undefined;
  return {
    host: registry.host,
    async open(range, { signal, idleSeconds }) {
      const isFullRange = range.first === 0 && range.last === size - 1;
      const headers = isFullRange ? {} : { range: `bytes=${range.first}-${range.last}` };
      const request = { headers, signal, idleSeconds };
      // A local copy, because concurrent ranges use and replace the same link.
      let link = storage;
      try {
        let response = await registry.request({
          ...request,
          target: link ?? target,
          ...(link === undefined ? {} : { maxRedirects }),
        });
        const location = redirectOf(response);
        if (location !== undefined) {
          await response[Symbol.asyncDispose]();
          link = location;
          storage = link;
          response = await registry.request({ ...request, target: location, maxRedirects });
        }
        return await checkResponse(response, range, size);
      } catch (error) {
        if (storage === link) storage = undefined;
        throw link !== undefined && isRefused(error) ? new TransientError(error) : error;
      }
    },
  };
}

function redirectOf({ status, headers, url }: OutboundResponse): URL | undefined {
  const location = [301, 302, 303, 307, 308].includes(status) ? headers["location"] : undefined;
  if (location === undefined) return undefined;
  const target = typeof location === "string" ? URL.parse(location, url.href) : null;
  if (target !== null) return target;
  const reason = "it redirects to an invalid URL";
  throw modelFailure({ kind: "registry-response-invalid", host: url.host, reason });
}

async function checkResponse(
  response: OutboundResponse,
  requested: ByteRange,
  size: number,
): Promise<OpenRange> {
  const { status, headers, body } = response;
  if (status !== 200 && status !== 206) throw await unexpectedStatus(response);
  const range =
    status === 206 ? parseContentRange(headers["content-range"], size) : { first: 0, last: size - 1 };
  const length = headers["content-length"];
  const bytes = range === undefined ? 0 : range.last - range.first + 1;
  const isValid =
    range !== undefined &&
    (status === 200 || (range.first === requested.first && range.last <= requested.last)) &&
    (length === undefined || Number(length) === bytes);
  if (isValid) {
    return {
      range,
      isFullBlob: status === 200,
      body,
      [Symbol.asyncDispose]: () => response[Symbol.asyncDispose](),
    };
  }
  await response[Symbol.asyncDispose]();
  const reason = "it sent a different range or length than requested";
  const { host } = response.url;
  throw new TransientError(modelFailure({ kind: "registry-response-invalid", host, reason }));
}

function parseContentRange(
  header: string | readonly string[] | undefined,
  size: number,
): ByteRange | undefined {
  const match = /^bytes (?<first>\d{1,16})-(?<last>\d{1,16})\/(?<total>\d{1,16}|\*)$/u.exec(
    String(header ?? ""),
  );
  const { first, last, total } = match?.groups ?? {};
  const range = { first: Number(first), last: Number(last) };
  const isOfSize = total === "*" || Number(total) === size;
  return isOfSize && range.first <= range.last && range.last < size ? range : undefined;
}

/** An expired storage link, or storage that lost the content; the registry may provide a new link. */
function isRefused(error: unknown): boolean {
  // Every failure has a kind.
  return error instanceof FailureError && (error.failure as { kind: string }).kind === "registry-refused";
}
