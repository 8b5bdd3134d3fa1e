import { createHmac, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { serveOnLoopback } from "../../loopback-server.ts";
import type { StoredFile } from "./repository.ts";
import { type Exchange, sendFile } from "./send-file.ts";

type ContentServerOptions = {
  findBySha256(sha256: string): StoredFile | undefined;
  nowSeconds(): number;
  readonly linkSeconds: number;
  record(exchange: Exchange): void;
};

type ContentServer = AsyncDisposable & {
  readonly url: string;
  /** Path and query of a link that grants access to the content until it expires. */
  signLink(sha256: string): string;
};

/**
 * The second host that a hub redirects to. Its links are pre-signed, so like S3 and CloudFront it responds with 400 to
 * a request that also has an Authorization header, and with 403 to an expired or altered link.
 */
export async function startContentServer(options: ContentServerOptions): Promise<ContentServer> {
  const key = randomBytes(32);
  const server = await serveOnLoopback(async (request, response) => {
    options.record({ request, response });
    const url = new URL(request.url ?? "/", "http://localhost");
    const sha256 = url.pathname.replace("/content/", "");
    const expires = url.searchParams.get("Expires") ?? "";
    if (request.headers.authorization !== undefined) {
      return reject(response, 400, "Only one authentication mechanism is allowed");
    }
    if (url.searchParams.get("Signature") !== sign(key, sha256, expires)) {
      return reject(response, 403, "The signature does not match");
    }
    if (options.nowSeconds() > Number(expires)) return reject(response, 403, "The link has expired");
    const file = options.findBySha256(sha256);
    if (file === undefined) return reject(response, 404, "The content does not exist");
    return sendFile({ request, response }, file, sha256);
  });
  return {
    // A different host name than the hub's, not just another port: some clients compare only names.
    url: `http://localhost:${server.port}`,
    signLink(sha256) {
      const expires = String(Math.floor(options.nowSeconds()) + options.linkSeconds);
      return `/content/${sha256}?Expires=${expires}&Signature=${sign(key, sha256, expires)}`;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function reject(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Message>${message}</Message></Error>`);
}

function sign(key: Buffer, sha256: string, expires: string): string {
  return createHmac("sha256", key).update(`${sha256}:${expires}`).digest("hex");
}
