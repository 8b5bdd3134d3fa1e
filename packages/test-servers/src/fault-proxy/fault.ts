/** Which way bytes travel: a question goes to the target, its answer to the client. */
export type Direction = "to-target" | "to-client";

/** A TCP reset, or a clean close that looks like a regular end of the stream. */
export type Ending = "reset" | "close";

type OnConnection = {
  /** Only the n-th connection since the proxy started, counted from 1; every connection when absent. */
  readonly connection?: number;
  /** The answers unless told otherwise. */
  readonly direction?: Direction;
};

type Counted = OnConnection & {
  /** How often it strikes in all; without end when absent. */
  readonly times?: number;
};

/**
 * What the proxy does wrong. A "turn" is what flows one way until bytes flow the other way: one request or one
 * answer. "Body" is a turn without its HTTP/1 head when it has one, and the whole turn otherwise.
 * Pipelined requests and protocols that talk both ways at once have no clear turns.
 */
export type Fault =
  /** Closes the door: new connections get "connection refused", open ones live on. */
  | { readonly kind: "refuse" }
  /** Holds back the first bytes of every turn. */
  | ({ readonly kind: "delay"; readonly milliseconds: number } & Counted)
  | ({ readonly kind: "throttle"; readonly bytesPerSecond: number } & OnConnection)
  /** Forwards nothing more after so many bytes, and keeps the connection open until the faults change. */
  | ({ readonly kind: "stall"; readonly afterBytes: number } & Counted)
  /** Ends the connection after so many bytes; 0 ends it as soon as it opens. */
  | ({ readonly kind: "cut"; readonly afterBytes: number; readonly how: Ending } & Counted)
  /** Ends the connection cleanly inside every body that is longer than this. */
  | ({ readonly kind: "truncate"; readonly bodyBytes: number } & Counted)
  /** Flips one bit (0 is the lowest) of this byte of every body that is long enough. */
  | ({ readonly kind: "flip-bit"; readonly bodyByte: number; readonly bit?: number } & Counted)
  /** Makes the Content-Length of every head wrong by so many bytes, which may be negative. */
  | ({ readonly kind: "lie-about-length"; readonly addBytes: number } & Counted);

/** A fault in force, with the strikes it has left over all connections. */
export type ArmedFault = { readonly fault: ConnectionFault; readonly strike: () => boolean };

export type ConnectionFault = Exclude<Fault, { kind: "refuse" }>;

export function armFault(fault: ConnectionFault): ArmedFault {
  checkFault(fault);
  let left = ("times" in fault ? fault.times : undefined) ?? Number.POSITIVE_INFINITY;
  return { fault, strike: () => left-- > 0 };
}

const smallestValues: Readonly<Record<string, number>> = {
  addBytes: Number.MIN_SAFE_INTEGER,
  bytesPerSecond: 1,
  connection: 1,
  times: 1,
};

function checkFault(fault: ConnectionFault): void {
  for (const [name, value] of Object.entries(fault)) {
    if (typeof value !== "number") continue;
    const isInRange = value >= (smallestValues[name] ?? 0) && !(name === "bit" && value > 7);
    if (!Number.isSafeInteger(value) || !isInRange) {
      throw new Error(`Cannot set the fault "${fault.kind}": ${name} is ${value}`);
    }
  }
}
