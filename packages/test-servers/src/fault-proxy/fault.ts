/** The direction of bytes: requests flow to the target, responses to the client. */
export type Direction = "to-target" | "to-client";

/** A TCP reset, or a clean close that resembles a regular end of the stream. */
export type Ending = "reset" | "close";

type OnConnection = {
  /** Applies only to the n-th connection since the proxy started, counted from 1; to every connection when absent. */
  readonly connection?: number;
  /** Defaults to responses. */
  readonly direction?: Direction;
};

type Counted = OnConnection & {
  /** How often it strikes in total; unlimited when absent. */
  readonly times?: number;
};

/**
 * A misbehaviour of the proxy. A "turn" is everything that flows one way until bytes flow the other way: one request or
 * one response. "Body" is a turn without its HTTP/1 head if it has one, and the whole turn otherwise.
 * Pipelined requests and full-duplex protocols have no clear turns.
 */
export type Fault =
  /** Stops listening: new connections get "connection refused", open ones stay open. */
  | { readonly kind: "refuse" }
  /** Holds back the first bytes of every turn. */
  | ({ readonly kind: "delay"; readonly milliseconds: number } & Counted)
  | ({ readonly kind: "throttle"; readonly bytesPerSecond: number } & OnConnection)
  /** Stops forwarding after this many bytes, and keeps the connection open until the faults change. */
  | ({ readonly kind: "stall"; readonly afterBytes: number } & Counted)
  /** Ends the connection after this many bytes; 0 ends it as soon as it opens. */
  | ({ readonly kind: "cut"; readonly afterBytes: number; readonly how: Ending } & Counted)
  /** Closes the connection cleanly within every body that is longer than this. */
  | ({ readonly kind: "truncate"; readonly bodyBytes: number } & Counted)
  /** Flips one bit (0 is the lowest) of this byte of every body that is long enough. */
  | ({ readonly kind: "flip-bit"; readonly bodyByte: number; readonly bit?: number } & Counted)
  /** Adds this many bytes, possibly negative, to the Content-Length of every head. */
  | ({ readonly kind: "lie-about-length"; readonly addBytes: number } & Counted);

/** An active fault, with its remaining strikes across all connections. */
export type ArmedFault = { readonly fault: ConnectionFault; readonly strike: () => boolean };

export type ConnectionFault = Exclude<Fault, { kind: "refuse" }>;

export function armFault(fault: ConnectionFault): ArmedFault {
  checkFault(fault);
  let remaining = ("times" in fault ? fault.times : undefined) ?? Number.POSITIVE_INFINITY;
  return { fault, strike: () => remaining-- > 0 };
}

const minValues: Readonly<Record<string, number>> = {
  addBytes: Number.MIN_SAFE_INTEGER,
  bytesPerSecond: 1,
  connection: 1,
  times: 1,
};

function checkFault(fault: ConnectionFault): void {
  for (const [name, value] of Object.entries(fault)) {
    if (typeof value !== "number") continue;
    const isInRange = value >= (minValues[name] ?? 0) && !(name === "bit" && value > 7);
    if (!Number.isSafeInteger(value) || !isInRange) {
      throw new Error(`Cannot set the fault "${fault.kind}": ${name} is ${value}`);
    }
  }
}
