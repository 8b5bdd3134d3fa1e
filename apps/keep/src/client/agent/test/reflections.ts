import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

/** What a host can do with the credentials that it gets: it gives them back in many forms. */
export function reflections(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? "/", "https://localhost");
  const credential = request.headers.authorization ?? request.headersDistinct["x-api-key"]?.join() ?? "";
  const kind = pathname.split("/").at(-1) ?? "";
  const reflect = forms[kind] ?? forms["json"];
  const bare = credential.replace(/^(?:bearer|basic|token) +/iu, "");
  reflect?.({ request, response, bare, credential, searchParams });
}

type Reflection = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Without the scheme. */
  readonly bare: string;
  readonly credential: string;
  readonly searchParams: URLSearchParams;
};

let stored = "";
let waiting: ServerResponse | undefined;

const forms: Readonly<Record<string, (reflection: Reflection) => unknown>> = {
  json: ({ request, response }) =>
    response.end(JSON.stringify({ url: request.url, headers: request.headers }, null, 1)),
  header: ({ response, bare }) => response.writeHead(200, { "x-echo": `<${bare}>` }).end(),
  "header-name": ({ response, bare }) =>
    response.writeHead(200, { [`x-${bare.replaceAll(/[^A-Za-z0-9_-]/gu, "")}`]: "1" }).end(),
  cookie: ({ response, bare }) => response.writeHead(200, { "set-cookie": [`a=${bare}`, `b=${bare}`] }).end(),
  error: ({ response, credential }) =>
    response
      .writeHead(500, { "content-type": "text/html" })
      .end(`<h1>Error</h1><pre>${credential.replaceAll("&", "&amp;")}</pre>`),
  base64: ({ response, credential }) => response.end(Buffer.from(`x${credential}y`).toString("base64")),
  url: ({ response, bare }) => response.end(encodeURIComponent(bare)),
  hex: ({ response, bare }) => response.end(Buffer.from(bare).toString("hex")),
  escaped: ({ response, bare }) => response.end(JSON.stringify(bare).replaceAll("/", "\\/")),
  split: async ({ response, bare }) => {
    for (const character of `split ${bare} end`) {
      response.write(character);
      await sleep(1);
    }
    response.end();
  },
  redirect: ({ response, bare, searchParams }) =>
    response
      .writeHead(302, { location: `${searchParams.get("to")}?token=${encodeURIComponent(bare)}` })
      .end(),
  trailer: ({ response, bare }) => {
    response.writeHead(200, { trailer: "x-echo" });
    response.write("trailer follows");
    response.addTrailers({ "x-echo": bare });
    response.end();
  },
  hints: ({ response, bare }) => {
    response.writeEarlyHints({ link: `<https://localhost/${encodeURIComponent(bare)}>; rel=preload` });
    response.end("hints");
  },
  reason: ({ response, bare }) => response.writeHead(200, `OK ${bare}`).end(),
  gzip: ({ response, bare }) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(bare)),
  brotli: ({ response, bare }) =>
    response.writeHead(200, { "content-encoding": "br" }).end(brotliCompressSync(bare)),
  deflate: ({ response, bare }) =>
    response.writeHead(200, { "content-encoding": "deflate" }).end(deflateSync(bare)),
  "transfer-gzip": ({ response, bare }) => {
    const body = gzipSync(bare);
    response.socket?.write(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n${body.length.toString(16)}\r\n`,
    );
    response.socket?.write(body);
    response.socket?.end("\r\n0\r\n\r\n");
  },
  range: ({ request, response, bare }) => {
    const [, from = "0", to = "999"] = /bytes=(\d+)-(\d+)/u.exec(request.headers.range ?? "") ?? [];
    const isPart = request.headers.range !== undefined;
    response.writeHead(isPart ? 206 : 200).end(bare.slice(Number(from), Number(to) + 1));
  },
  // Although nobody asked for a part.
  part: ({ response, bare }) =>
    response.writeHead(206, { "content-range": "bytes 0-5/99" }).end(bare.slice(0, bare.length - 2)),
  store: ({ response, bare }) => {
    stored = bare;
    response.end("stored");
  },
  stored: ({ response }) => response.end(`stored: ${stored}`),
  wait: ({ response }) => {
    waiting = response;
    response.write("waiting\n");
  },
  push: ({ response, bare }) => {
    waiting?.end(`pushed ${bare}`);
    response.end("pushed");
  },
};
