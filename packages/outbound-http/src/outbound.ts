/** Whom we may call. */
export type OutboundRules = {
  /** Hosts, as `registry.lan:5000` or without a port for any, that may be at private addresses and spoken to by http. */
  readonly privateHosts: readonly string[];
};

export type Outbound = AsyncDisposable & {
  /** Throws OutboundProblem. An answer of any status is an answer; its body must be read or the answer disposed. */
  request(url: URL, plan?: RequestPlan): Promise<OutboundAnswer>;
};

export type RequestPlan = {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH";
  /** Go to every hop. Never credentials: those are `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Goes to the first host alone, never along a redirect to another host, scheme or port. */
  readonly authorization?: string;
  /** Redirects are followed for GET and HEAD alone; an iterable is sent once. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** How many redirects are followed; 0 gives the redirect itself to the caller. */
  readonly mostRedirects?: number;
  /** Whose answer named this address, when nobody here did: a host that is not listed leads to none that is. */
  readonly sentBy?: URL;
  /** Plain http is meant; without it even a private host is spoken to by https alone. */
  readonly isInsecure?: boolean;
  /** Until the head of the answer is there, and between any two chunks of its body. */
  readonly idleSeconds?: number;
  readonly signal?: AbortSignal;
};

export type OutboundAnswer = AsyncDisposable & {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Where it came from in the end. */
  readonly url: URL;
  /** As it was sent: we ask for no compression, and an answer that is compressed all the same is refused. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body, at most so many bytes. */
  readWhole(mostBytes: number): Promise<Buffer>;
};

export type OutboundReason =
  /** Not http or https, or with a name and a password in it. */
  | "scheme-forbidden"
  /** http without both sides' consent. */
  | "plain-forbidden"
  /** One of the name's addresses is private, and the host is not listed. */
  | "address-forbidden"
  | "redirects-too-many"
  | "redirect-invalid"
  | "no-address"
  | "connection-refused"
  | "connection-broken"
  | "certificate-untrusted"
  | "timed-out"
  | "answer-too-large"
  | "answer-packed";

/** Why a request had no answer. It holds the host alone: no path, no query, no credentials. */
export class OutboundProblem extends Error {
  override readonly name = "OutboundProblem";
  readonly host: string;
  readonly reason: OutboundReason;

  constructor(host: string, reason: OutboundReason, options?: ErrorOptions) {
    super(`Cannot call ${host}: ${reason}`, options);
    this.host = host;
    this.reason = reason;
  }
}
