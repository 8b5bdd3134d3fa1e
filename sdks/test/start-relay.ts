/**
 * @module
 * What the tests of both SDKs share: a relay in front of a real Keep that fails on command, GitHub's endpoint for
 * identity tokens, and the programs that use the SDKs.
 * Imported by the tests of this folder only.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { findFreePort } from "@hearth-and-keep/test-servers";

/** What happens to one request instead of being passed on, or, for `lose-response`, after it. */
type Fault = {
  readonly kind: "status" | "drop" | "lose-response" | "redirect" | "huge" | "silent" | "html";
  readonly status?: number;
  readonly retryAfter?: string;
};

/** Sent by the programs to `/relay`; answered with the statuses of the requests since the command before. */
type Command = { readonly faults?: Fault[]; readonly lifetimeSeconds?: number };

export type Relay = AsyncDisposable & {
  readonly url: string;
  /** Requests that arrived at the address to which redirects point. */
  readonly redirected: string[];
};

export type RelayPlan = {
  /** The address of Keep. */
  readonly target: string;
  readonly mintToken: (audience: string) => string;
  readonly requestToken: string;
};

const hugeBytes = 17 * 1024 * 1024;

export async function startRelay(plan: RelayPlan): Promise<Relay> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const redirected: string[] = [];
  let command: Command = {};
  let statuses: number[] = [];
  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "/";
    const body = await readBody(request);
    if (path === "/relay") {
      respond(response, 200, { statuses });
      // Written by our own programs.
      command = JSON.parse(body.toString("utf8")) as Command;
      statuses = [];
    } else if (path.startsWith("/identity")) {
      const isJob = request.headers.authorization === `Bearer ${plan.requestToken}`;
      const audience = new URL(path, url).searchParams.get("audience") ?? "";
      respond(response, isJob ? 200 : 401, { value: plan.mintToken(audience) });
    } else if (path === "/elsewhere") {
      redirected.push(JSON.stringify(request.headers));
      respond(response, 200, {});
    } else {
      const fault = command.faults?.shift();
      if (fault === undefined || fault.kind === "lose-response") {
        const forwarded = await forward(plan.target + path, request, body);
        statuses.push(forwarded.status);
        if (fault !== undefined) return void response.destroy();
        response.writeHead(forwarded.status, forwarded.headers).end(shorten(forwarded.text, command));
      } else {
        statuses.push(fault.status ?? 0);
        fail(response, fault, url);
      }
    }
  };
  const server = createServer((request, response) => {
    relay(request, response).catch(() => response.destroy());
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  return {
    url,
    redirected,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  // The request has no encoding, so its chunks are buffers.
  return Buffer.concat((await request.toArray()) as Uint8Array[]);
}

async function forward(url: string, { method = "GET", headers }: IncomingMessage, body: Buffer<ArrayBuffer>) {
  const names = ["authorization", "content-type", "if-match", "if-none-match", "idempotency-key"];
  const passed = names.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  const response = await fetch(url, {
    method,
    headers: passed.map(([name, value]): [string, string] => [name, value]),
    ...(body.length === 0 ? {} : { body }),
  });
  const returned = ["content-type", "etag", "retry-after", "x-request-id"].flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { status: response.status, headers: Object.fromEntries(returned), text: await response.text() };
}

/** Tokens of rules last at least a minute, for which a test cannot wait. */
function shorten(text: string, { lifetimeSeconds }: Command): string {
  return lifetimeSeconds === undefined
    ? text
    : text.replace(/"expires_in":\d+/u, `"expires_in":${lifetimeSeconds}`);
}

function fail(response: ServerResponse, { kind, status = 503, retryAfter }: Fault, url: string): void {
  const problem = { type: "about:blank", title: "Refused by the relay", status, code: "relay" };
  switch (kind) {
    case "status":
      if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
      return respond(response, status, problem);
    case "redirect":
      response.setHeader("location", `${url}/elsewhere`);
      return respond(response, 307, {});
    case "huge":
      return respond(response, 200, { value: "x".repeat(hugeBytes) });
    case "html":
      response.writeHead(200, { "content-type": "text/html" }).end("<p>canary-page</p>");
      return;
    case "silent":
      return;
    case "drop":
    case "lose-response":
      response.destroy();
  }
}

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
