import type { FastifyInstance, FastifyRequest } from "fastify";
import { isPackedWrongly, unpack } from "./unpack-body.ts";

/** Thrown into `answerFailure` when a body is not what it should be. */
export class BodyProblem extends Error {
  readonly reason: "malformed" | "too-large" | "missing-length" | "cut-off";

  constructor(reason: BodyProblem["reason"], options?: ErrorOptions) {
    super(`body ${reason}`, options);
    this.name = "BodyProblem";
    this.reason = reason;
  }
}

/**
 * A body is JSON whatever its content type says: `curl -d` says it is a form. Sites that could misuse that are kept
 * out before the body is read. Keys that would change an object's prototype are refused by the parser.
 */
export function readBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  const parse = server.getDefaultJsonParser("error", "error");
  server.addContentTypeParser("*", { parseAs: "string" }, (request, text, done) => {
    // Asked for as a string above.
    const body = text as string;
    if (body.trim() === "") done(null, undefined);
    else void parse(request, body, done);
  });
}

/** Rows whose body may be packed: what says so is unpacked first, the rest is read as everywhere. */
export function readPackedBodies(server: FastifyInstance, mostBytes: number): void {
  server.removeAllContentTypeParsers();
  const parse = server.getDefaultJsonParser("error", "error");
  server.addContentTypeParser("*", { parseAs: "buffer" }, (request, bytes, done) => {
    const isPacked = request.headers["content-encoding"]?.toLowerCase() === "zstd";
    // Asked for as a buffer above.
    const received = bytes as Buffer;
    const readJson = (body: string): void =>
      body.trim() === "" ? done(null, undefined) : void parse(request, body, done);
    if (isPacked) unpack(received, mostBytes).then((unpacked) => readJson(unpacked.toString("utf8")), done);
    else readJson(received.toString("utf8"));
  });
}

/** The server refuses types it cannot read before it asks who reads them. */
export function forgetType({ raw }: FastifyRequest): void {
  delete raw.headers["content-type"];
}

/** Rows that read their body themselves get the socket's stream; their limit is their own. */
export function passStreams(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", (_request: FastifyRequest, payload, done) => done(null, payload));
}

/** The server's own complaints in our words; anything else stays what it is. */
export function nameBodyProblem(problem: unknown): unknown {
  const code = problem instanceof Error && "code" in problem ? String(problem.code) : "";
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE" || code === "ERR_BUFFER_TOO_LARGE")
    return new BodyProblem("too-large", { cause: problem });
  if (code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH")
    return new BodyProblem("missing-length", { cause: problem });
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE") {
    return new BodyProblem("cut-off", { cause: problem });
  }
  const isMalformed =
    problem instanceof SyntaxError || code === "FST_ERR_CTP_INVALID_JSON_BODY" || isPackedWrongly(code);
  return isMalformed ? new BodyProblem("malformed", { cause: problem }) : problem;
}
