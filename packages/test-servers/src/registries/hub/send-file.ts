import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { readRange } from "./byte-range.ts";
import { readContent, type StoredFile } from "./repository.ts";

export type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** Responds to GET and HEAD with a file or the requested range; the entity tag is passed without quotes. */
export async function sendFile(
  { request, response }: Exchange,
  file: StoredFile,
  tag: string,
): Promise<void> {
  const etag = `"${tag}"`;
  const ifRange = request.headers["if-range"];
  const isUnchanged = ifRange === undefined || ifRange === etag;
  const range = readRange(isUnchanged ? request.headers.range : undefined, file.size);
  response.setHeader("accept-ranges", "bytes");
  if (range.kind === "unsatisfiable") {
    response.writeHead(416, { "content-range": `bytes */${file.size}` }).end();
    return;
  }
  const { first, last } = range.kind === "part" ? range : { first: 0, last: file.size - 1 };
  if (range.kind === "part") response.setHeader("content-range", `bytes ${first}-${last}/${file.size}`);
  response.writeHead(range.kind === "part" ? 206 : 200, {
    "content-type": "application/octet-stream",
    "content-length": last - first + 1,
    etag,
  });
  if (request.method === "HEAD" || file.size === 0) {
    response.end();
    return;
  }
  // A client that disconnects during the transfer is not a server error.
  await pipeline(readContent(file.content, { first, last }), response).catch(() => response.destroy());
}
