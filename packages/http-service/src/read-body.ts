import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { constants, gunzip, zstdDecompress } from "node:zlib";
import { findExceededLimit } from "@hearth-and-keep/bounded-json";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Route } from "./route.ts";

/** Passed to `toErrorResponse` when a body cannot be read. */
export class BodyError extends Error {
  override readonly name = "BodyError";
  readonly reason:
    | "missing"
    | "malformed"
    /** A body that must be a form of type multipart/form-data. */
    | "not-a-form"
    | "too-large"
    | "too-deep"
    | "too-complex"
    | "missing-length"
    | "encoding-not-supported"
    | "cut-off";

  constructor(reason: BodyError["reason"], options?: ErrorOptions) {
    super(`body ${reason}`, options);
    this.reason = reason;
  }
}

/** Content encodings that bodies may have; the body limit applies to the decompressed body too. */
export type ContentEncoding = keyof typeof decompressors;

type ParsingOptions = {
  /** None by default. */
  readonly contentEncodings: readonly ContentEncoding[] | undefined;
  /** Called with the size of a decompressed body; throws to reject it. */
  readonly onDecompressed: ((request: FastifyRequest, bytes: number) => void) | undefined;
};

/**
 * Parses every body as JSON, whatever its content type: `curl -d` claims to send a form. The content type is no
 * defence against cross-site requests here; those are rejected before the body is read. Keys that would change an
 * object's prototype are rejected by the parser.
 */
export function parseJsonBodies(server: FastifyInstance, options: ParsingOptions): void {
  const parseJson = replaceParsers(server);
  const parse: ParseBody = (request, bytes, done) => {
    const textBody = textBodies.get(request);
    if (textBody === undefined || bytes.subarray(0, 1024).toString("latin1").trimStart().startsWith("{")) {
      parseJson(request, bytes, done);
    } else if (isUtf8(bytes)) done(null, textBody(bytes.toString("utf8")));
    else done(new BodyError("malformed"));
  };
  server.addContentTypeParser("*", { parseAs: "buffer" }, (request, bytes, done) => {
    // `parseAs` above makes it a buffer.
    const received = bytes as Buffer;
    const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
    if (encoding === "identity" || received.length === 0) parse(request, received, done);
    else
      decompress(request, received, { ...options, encoding }).then(
        (body) => parse(request, body, done),
        done,
      );
  });
}

/** Stops at the row's limit, so that a small body cannot expand into a large one. */
async function decompress(
  request: FastifyRequest,
  received: Buffer,
  { encoding, contentEncodings = [], onDecompressed }: ParsingOptions & { readonly encoding: string },
): Promise<Buffer> {
  const supported = contentEncodings.find((each) => each === encoding);
  if (supported === undefined) throw new BodyError("encoding-not-supported");
  const body = await decompressors[supported](received, request.routeOptions.bodyLimit);
  onDecompressed?.(request, body.length);
  return body;
}

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

/** 8 MB, which RFC 8878 asks decoders to support; a sender may demand a window of 2 GB for a few bytes. */
const maxWindow = { [constants.ZSTD_d_windowLogMax]: 23 };

const [unzip, unpackZstd] = [promisify(gunzip), promisify(zstdDecompress)];

const decompressors = {
  gzip: (bytes: Buffer, maxOutputLength: number) => unzip(bytes, { maxOutputLength }),
  zstd: (bytes: Buffer, maxOutputLength: number) => unpackZstd(bytes, { maxOutputLength, params: maxWindow }),
} as const;

type TextBody = NonNullable<Route["textBody"]>;

/** Requests whose body is a text. */
const textBodies = new WeakMap<FastifyRequest, TextBody>();

/** For a row with `textBody`, before the content type is ignored. */
export function noteTextBody(request: FastifyRequest, textBody: TextBody): void {
  const type = request.raw.headers["content-type"] ?? "";
  if (/^(?:text\/plain|application\/x-www-form-urlencoded)(?:\s*;|\s*$)/iu.test(type))
    textBodies.set(request, textBody);
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
  Z_DATA_ERROR: "malformed",
};
