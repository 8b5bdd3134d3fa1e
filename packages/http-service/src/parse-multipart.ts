import type { FastifyInstance, FastifyRequest } from "fastify";
import { BodyError } from "./read-body.ts";
import { findContentType } from "./request-content-type.ts";

/** A form with files as clients upload it (RFC 7578); both lists are in the order received. */
export type MultipartForm = {
  readonly fields: readonly FormField[];
  readonly files: readonly FormFile[];
};

export type FormField = { readonly name: string; readonly value: string };

export type FormFile = {
  /** The name of the field. */
  readonly name: string;
  /** As the client sent it: never a path to open. */
  readonly fileName: string;
  /** Empty if the client sent none. */
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

/** Fields and files; the forms of public APIs have a dozen. */
const maxParts = 64;

/** RFC 2046 allows at most 70 characters in a boundary. */
const formType =
  /^multipart\/form-data\s*;(?:[^"]*;)?\s*boundary=(?:"(?<quoted>[^"\r\n]{1,70})"|(?<plain>[^\s;,"]{1,70}))/iu;

/**
 * Parses a complete body with Node's own parser. The number of parts is counted before, because the parser creates an
 * object for each. Throws BodyError if the body is no form, or has too many parts.
 */
export async function parseMultipart(
  body: Uint8Array<ArrayBuffer>,
  contentType: string | undefined,
): Promise<MultipartForm> {
  const { quoted, plain } = formType.exec(contentType ?? "")?.groups ?? {};
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw new BodyError("not-a-form");
  if (hasTooManyParts(body, boundary)) throw new BodyError("too-complex");
  const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` };
  const form = await new Response(body, { headers }).formData().catch((error: unknown) => {
    throw new BodyError("not-a-form", { cause: error });
  });
  const entries = [...form];
  const fields = entries.flatMap(([name, value]) => (typeof value === "string" ? [{ name, value }] : []));
  const files = entries.flatMap(([name, value]) => (typeof value === "string" ? [] : [{ name, value }]));
  return {
    fields,
    files: await Promise.all(
      files.map(async ({ name, value }) => ({
        name,
        fileName: value.name,
        contentType: value.type,
        bytes: new Uint8Array(await value.arrayBuffer()),
      })),
    ),
  };
}

function hasTooManyParts(body: Uint8Array<ArrayBuffer>, boundary: string): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delimiter = `--${boundary}`;
  let count = 0;
  for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    count += 1;
    // The last delimiter ends the form.
    if (count > maxParts + 1) return true;
  }
  return false;
}

/** For rows with `body: "form"`: the handler receives a `MultipartForm`. */
export function parseForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer" }, async (request: FastifyRequest, body: Buffer) => {
    const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
    if (encoding !== "identity") throw new BodyError("encoding-not-supported");
    // Bodies are never in shared memory.
    return parseMultipart(body as Buffer<ArrayBuffer>, findContentType(request));
  });
}
