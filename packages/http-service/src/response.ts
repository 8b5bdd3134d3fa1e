/** What a handler returns. Only this package writes to the socket. */
export type HttpResponse = BufferedResponse | StreamedResponse;

export type BufferedResponse = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
};

/** A response that is written chunk by chunk, with back-pressure: a slow client slows the generator down. */
export type StreamedResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<string>;
  /** Written while there are no chunks, so that proxies do not close the connection as idle. */
  readonly keepAliveChunk: string;
  /** Absent if clients would mistake a comment for output. */
  readonly formatComment?: (text: string) => string;
  /** The last chunk when generation fails after the first chunk was sent. */
  readonly formatError: (error: unknown) => string;
};

export function textResponse(text: string): BufferedResponse {
  return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: text };
}

export function jsonResponse(value: unknown, status = 200): BufferedResponse {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify(value),
  };
}
