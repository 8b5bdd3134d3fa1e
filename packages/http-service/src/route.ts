import type { TSchema } from "typebox";
import type { HttpResponse } from "./response.ts";

/** A request before its body is read. */
export type RequestHead = {
  readonly requestId: string;
  readonly method: string;
  /** As the client sent it, without the query. Never used for an access decision. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** A header that was sent more than once is a list, in the order received. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The peer of the connection, or the client that a trusted proxy reports. */
  readonly clientAddress: string;
  /** Adds fields to the log record of this request. */
  readonly addLogFields: (fields: LogFields) => void;
  /**
   * Adds headers to the response of this request, whether it succeeds or fails. A header that it already has gets
   * another value, unless it has that value too.
   */
  readonly addResponseHeaders: (headers: Readonly<Record<string, string>>) => void;
};

/** A request as its handler receives it. */
export type HttpRequest<Actor = unknown, Body = unknown, Query = RequestHead["query"]> = Omit<
  RequestHead,
  "query"
> & {
  readonly query: Query;
  /**
   * Parsed JSON, the `MultipartForm` of a row with `body: "form"`, the fields by name of one with `body: "urlencoded"`, or
   * the byte stream of one with `body: "stream"`.
   */
  readonly body: Body;
  /** What `authenticate` returned for this request. */
  readonly actor: Actor;
  /** Aborts when the client disconnects before the response is complete. */
  readonly signal: AbortSignal;
  /**
   * Writes a comment to the response at once, if it is a stream whose format has comments. It sends the headers, so a
   * failure after that no longer has its own status.
   */
  addComment?(text: string): void;
};

/** The program's logger drops fields that are not on its allow-list. */
export type LogFields = Readonly<Record<string, string | number | boolean>>;

export type Handler<Request, Dependencies> = (
  request: Request,
  dependencies: Dependencies,
) => HttpResponse | Promise<HttpResponse>;

/** One row of a program's route table; programs extend it with columns of their own. */
export type Route<Actor = unknown, Dependencies = unknown> = {
  /** A GET row also handles HEAD. */
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /**
   * JSON by default. A form is a `MultipartForm`. An urlencoded body is validated as an object of strings. A stream is
   * read with `streamBody`, within limits that its handler sets.
   */
  readonly body?: "json" | "form" | "urlencoded" | "stream";
  /**
   * The body that a text stands for, on a row with a JSON body: one of type text/plain, or of the type that `curl` gives to
   * files. A text that begins with a brace is JSON all the same: some clients give all their bodies these types.
   */
  readonly textBody?: (text: string) => unknown;
  /** Replaces the service's limit. */
  readonly maxBodyBytes?: number;
  /** Set by `accepts`, together with the handler. */
  readonly bodySchema?: TSchema;
  readonly querySchema?: TSchema;
  readonly handle: Handler<HttpRequest<Actor>, Dependencies>;
};
