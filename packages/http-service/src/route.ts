import type { Answer } from "./answer.ts";

/** One request, as handlers see it. */
export type Call = {
  readonly requestId: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
  /** Fires when the caller hangs up before the answer is complete. */
  readonly signal: AbortSignal;
};

/** One row of a program's table of URLs; programs add columns (dialect, access) by extending it. */
export type Route = {
  /** A GET row also answers HEAD. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
};
