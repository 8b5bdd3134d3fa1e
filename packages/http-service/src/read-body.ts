import { promisify } from "node:util";
import { constants, zstdDecompress } from "node:zlib";
import { findExceededLimit } from "@hearth-and-keep/bounded-json";
import type { FastifyInstance, FastifyRequest } from "fastify";

/** Passed to `toErrorResponse` when a body cannot be read. */
export class BodyError extends Error {
  override readonly name = "BodyError";
  readonly reason:
    | "missing"
    | "malformed"
    | "too-large"
    | "too-deep"
    | "too-complex"
    | "missing-length"
    | "cut-off";

  constructor(reason: BodyError["reason"], options?: ErrorOptions) {
    super(`body ${reason}`, options);
    this.reason = reason;
  }
}

/**
 * Parses every body as JSON, whatever its content type: `curl -d` claims to send a form. The content type is no
 * defence against cross-site requests here; those are rejected before the body is read. Keys that would change an
 * object's prototype are rejected by the parser.
 */
export function parseJsonBodies(server: FastifyInstance): void {
  const parse = replaceParsers(server);
  server.addContentTypeParser("*", { parseAs: "buffer" }, (request, bytes, done) => {
    // `parseAs` above makes it a buffer.
    parse(request, bytes as Buffer, done);
  });
}

/** For rows that accept zstd: decompresses bodies with that content encoding, and parses all as JSON. */
export function parseCompressedBodies(
  server: FastifyInstance,
  { maxBytes, onDecompressed }: DecompressionOptions,
): void {
  const parse = replaceParsers(server);
  server.addContentTypeParser("*", { parseAs: "buffer" }, (request, bytes, done) => {
    const isCompressed = request.headers["content-encoding"]?.toLowerCase() === "zstd";
    // `parseAs` above makes it a buffer.
    const received = bytes as Buffer;
    const decompressed = async (): Promise<Buffer> => {
      const body = await decompress(received, maxBytes);
      onDecompressed?.(request, body.length);
      return body;
    };
    if (isCompressed) decompressed().then((body) => parse(request, body, done), done);
    else parse(request, received, done);
  });
}

type DecompressionOptions = {
  readonly maxBytes: number;
  /** Called with the size of a decompressed body; throws to reject it. */
  readonly onDecompressed: ((request: FastifyRequest, bytes: number) => void) | undefined;
};

type ParseBody = (request: FastifyRequest, bytes: Buffer, done: BodyDone) => void;
type BodyDone = (error: Error | null, body?: unknown) => void;

/** Checks the shape of a text before it is parsed: the parser itself accepts any depth. */
function replaceParsers(server: FastifyInstance): ParseBody {
  server.removeAllContentTypeParsers();
  const parse = server.getDefaultJsonParser("error", "error");
  return (request, bytes, done) => {
    const exceeded = findExceededLimit(bytes);
    if (exceeded !== undefined) {
      done(new BodyError(exceeded));
      return;
    }
    const text = bytes.toString("utf8");
    if (text.trim() === "") done(null, undefined);
    else void parse(request, text, done);
  };
}

const zstd = promisify(zstdDecompress);

/** 8 MB, which RFC 8878 asks decoders to support; a sender may demand a window of 2 GB for a few bytes. */
const maxWindow = { [constants.ZSTD_d_windowLogMax]: 23 };

/** Stops at the limit, so that a small body cannot expand into a large one. */
function decompress(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  return zstd(bytes, { maxOutputLength: maxBytes, params: maxWindow });
}

/** Fastify rejects content types without a parser of their own before it tries the catch-all parser. */
export function ignoreContentType({ raw }: FastifyRequest): void {
  delete raw.headers["content-type"];
}

/** For rows with `body: "stream"`: hands the socket's stream to the handler, which enforces its own limit. */
export function passBodyStreams(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", (_request: FastifyRequest, payload, done) => done(null, payload));
}

/** Maps errors of Fastify, Node and zlib about the body; returns any other error unchanged. */
export function toBodyError(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const isMalformed = error instanceof SyntaxError || code.startsWith("ZSTD_error");
  const reason = isMalformed ? "malformed" : reasons[code];
  return reason === undefined ? error : new BodyError(reason, { cause: error });
}

const reasons: Readonly<Record<string, BodyError["reason"]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "too-large",
  ERR_BUFFER_TOO_LARGE: "too-large",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "missing-length",
  ECONNRESET: "cut-off",
  ERR_STREAM_PREMATURE_CLOSE: "cut-off",
  FST_ERR_CTP_INVALID_JSON_BODY: "malformed",
  Z_BUF_ERROR: "malformed",
};
