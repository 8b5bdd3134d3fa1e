export type OutboundRules = {
  /** Hosts that may be at private addresses and use plain HTTP, e.g. `registry.lan:5000`; without a port, any port. */
  readonly privateHosts: readonly string[];
};

export type Outbound = AsyncDisposable & {
  /**
   * Resolves for every status, and throws OutboundError when there is no response. The caller reads the body or
   * disposes of the response.
   */
  request(url: URL, options?: OutboundRequestOptions): Promise<OutboundResponse>;
};

export type OutboundRequestOptions = {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent to every hop, so never credentials: use `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent to the origin of the URL only, never along a redirect to another origin. */
  readonly authorization?: string;
  /** Redirects are followed for GET and HEAD only. An iterable body is sent once and never retried. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** Redirects to follow; with 0 the redirect itself is returned. */
  readonly maxRedirects?: number;
  /** The server whose response contained this URL. A public host cannot refer us to a private one. */
  readonly referrer?: URL;
  /** Allows plain HTTP to private hosts; otherwise they must use HTTPS too. */
  readonly allowPlainHttp?: boolean;
  /** Time limit for the response headers, and between two chunks of the body. */
  readonly idleSeconds?: number;
  readonly signal?: AbortSignal;
};

export type OutboundResponse = AsyncDisposable & {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** After redirects. */
  readonly url: URL;
  /** As sent: requests ask for no compression, and compressed responses are rejected. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Rejects when the body is larger. */
  readAll(maxBytes: number): Promise<Buffer>;
};

export type OutboundReason =
  /** Neither http nor https, or the URL contains credentials. */
  | "scheme-forbidden"
  /** Plain HTTP without `allowPlainHttp`, or to a host that is not listed. */
  | "plain-forbidden"
  /** An address of the host is private and the host is not listed, or is never allowed. */
  | "address-forbidden"
  | "redirects-too-many"
  | "redirect-invalid"
  | "no-address"
  | "connection-refused"
  | "connection-broken"
  | "certificate-untrusted"
  | "timed-out"
  | "response-too-large"
  | "response-compressed";

/** Why there is no response. Names the host only: no path, query or credentials. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  readonly host: string;
  readonly reason: OutboundReason;

  constructor(host: string, reason: OutboundReason, options?: ErrorOptions) {
    super(`Cannot call ${host}: ${reason}`, options);
    this.host = host;
    this.reason = reason;
  }
}
