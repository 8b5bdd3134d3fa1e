import type { Answer } from "./answer.ts";

/** What is known of a request before its body is read. */
export type CallHead = {
  readonly requestId: string;
  readonly method: string;
  /** As it was asked for, without the query. For the look of an answer, never for a decision about access. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** One that was sent more than once is a list, in the order it came. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Who calls: the other end of the connection, or what a trusted proxy says it is. */
  readonly address: string;
  /** Puts something into the request's record. */
  readonly note: (notes: RequestNotes) => void;
};

/** One request, as handlers see it. */
export type Call = CallHead & {
  /** Parsed JSON, or the bytes as they come for a row that asks for a stream. */
  readonly body: unknown;
  /** What `admit` found out about the caller. */
  readonly admission: unknown;
  /** Fires when the caller hangs up before the answer is complete. */
  readonly signal: AbortSignal;
};

/** Short facts by name; which of them may be logged, the program's own list decides. */
export type RequestNotes = Readonly<Record<string, string | number | boolean>>;

/** One row of a program's table of URLs; programs add columns (dialect, access) by extending it. */
export type Route = {
  /** A GET row also answers HEAD. */
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** JSON unless said otherwise; a stream is read by `streamBody`, within the bounds that its handler sets. */
  readonly body?: "json" | "stream";
  /** How a JSON body may be packed; unpacked it is held to the same limit. Without it a packed body is no JSON. */
  readonly packing?: "zstd";
  readonly handle: (call: Call) => Answer | Promise<Answer>;
};
