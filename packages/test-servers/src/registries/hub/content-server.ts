import { createHmac, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { serveOnLoopback } from "../../loopback-server.ts";
import type { StoredFile } from "./repository.ts";
import { type Exchange, sendFile } from "./send-file.ts";

type ContentServerParts = {
  findBySha256(sha256: string): StoredFile | undefined;
  nowSeconds(): number;
  readonly linkSeconds: number;
  note(exchange: Exchange): void;
};

type ContentServer = AsyncDisposable & {
  readonly url: string;
  /** Path and query of a link that opens the content until it expires. */
  signLink(sha256: string): string;
};

/**
 * The other host that a hub redirects to. Its links carry their own permission, so like S3 and CloudFront it
 * answers 400 to a request that brings an Authorization header too, and 403 to a link that expired or was changed.
 */
export async function startContentServer(parts: ContentServerParts): Promise<ContentServer> {
  const key = randomBytes(32);
  const server = await serveOnLoopback(async (request, response) => {
    parts.note({ request, response });
    const url = new URL(request.url ?? "/", "http://localhost");
    const sha256 = url.pathname.replace("/content/", "");
    const expires = url.searchParams.get("Expires") ?? "";
    if (request.headers.authorization !== undefined) {
      return refuse(response, 400, "Only one authentication mechanism is allowed");
    }
    if (url.searchParams.get("Signature") !== sign(key, sha256, expires)) {
      return refuse(response, 403, "The signature does not match");
    }
    if (parts.nowSeconds() > Number(expires)) return refuse(response, 403, "The link has expired");
    const file = parts.findBySha256(sha256);
    if (file === undefined) return refuse(response, 404, "The content does not exist");
    return sendFile({ request, response }, file, sha256);
  });
  return {
    // Another host name than the hub's, and not only another port: some clients compare names alone.
    url: `http://localhost:${server.port}`,
    signLink(sha256) {
      const expires = String(Math.floor(parts.nowSeconds()) + parts.linkSeconds);
      return `/content/${sha256}?Expires=${expires}&Signature=${sign(key, sha256, expires)}`;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Message>${message}</Message></Error>`);
}

function sign(key: Buffer, sha256: string, expires: string): string {
  return createHmac("sha256", key).update(`${sha256}:${expires}`).digest("hex");
}
