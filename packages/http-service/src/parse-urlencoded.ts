import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { BodyError } from "./read-body.ts";
import { findContentType } from "./request-content-type.ts";

const maxFields = 64;

/**
 * For rows with `body: "urlencoded"`: the handler receives the fields by name. A field that is sent more than once makes
 * the body malformed: it would mean different things to different readers.
 */
export function parseUrlencodedBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer" }, async (request: FastifyRequest, body: Buffer) => {
    const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
    if (encoding !== "identity") throw new BodyError("encoding-not-supported");
    const type = findContentType(request) ?? "";
    if (!/^application\/x-www-form-urlencoded(?:\s*;|\s*$)/iu.test(type)) throw new BodyError("not-a-form");
    return parseFields(body);
  });
}

function parseFields(body: Buffer): Readonly<Record<string, string>> {
  if (!isUtf8(body)) throw new BodyError("malformed");
  const fields = [...new URLSearchParams(body.toString("utf8"))];
  if (fields.length > maxFields) throw new BodyError("too-complex");
  if (new Set(fields.map(([name]) => name)).size < fields.length) throw new BodyError("malformed");
  return Object.fromEntries(fields);
}
