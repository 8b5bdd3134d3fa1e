/**
 * @module
 * How this machine gets a token that a person approves in a browser. Guarantees that only this process can exchange the
 * code, and that what other programs and pages send to its port is ignored.
 * Imported by `commands/login.ts`.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  codeGrant,
  type LoginPermission,
  type LoginToken,
  loginToken,
} from "@hearth-and-keep/vault-contract";
import { clientFailure } from "../client-failure.ts";
import type { VaultClient } from "../vault-client.ts";

export type LoginRequest = { readonly machine: string; readonly permission: LoginPermission };

export type RedirectOptions = {
  /** Shows the page to the person. */
  readonly onPage: (url: string) => void;
  readonly timeoutMilliseconds?: number;
};

const host = "127.0.0.1";
const defaultTimeout = 10 * 60_000;

/**
 * The login of RFC 8252: the server's page sends the browser back to a port of this machine with a one-time code, which
 * only this process can exchange, because only it has the verifier.
 */
export async function loginByRedirect(
  client: VaultClient,
  { machine, permission }: LoginRequest,
  { onPage, timeoutMilliseconds = defaultTimeout }: RedirectOptions,
): Promise<LoginToken> {
  const verifier = randomText();
  const state = randomText();
  const listener = await listen();
  try {
    const code_challenge = createHash("sha256").update(verifier).digest("base64url");
    const port = String(portOf(listener));
    const query = new URLSearchParams({ port, state, code_challenge, machine, permission });
    const code = receiveCode(listener, state, AbortSignal.timeout(timeoutMilliseconds));
    onPage(`${client.server}/login/authorize?${query.toString()}`);
    const form = { grant_type: codeGrant, code: await code, code_verifier: verifier };
    return await client.request("/api/logins/token", { method: "POST", form, shape: loginToken });
  } finally {
    listener.closeAllConnections();
    listener.close();
  }
}

function randomText(): string {
  return randomBytes(32).toString("base64url");
}

/** Only on this machine, at a port that the system chooses. */
async function listen(): Promise<Server> {
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 10_000 });
  server.listen(0, host);
  await once(server, "listening");
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The listener has no port");
  return address.port;
}

/** Ignores requests without our state, which any page or program of this machine could send. */
function receiveCode(listener: Server, state: string, timeout: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  timeout.addEventListener("abort", () => reject(clientFailure({ kind: "login-timed-out" })));
  listener.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", `http://${host}`);
    const isOurs = request.method === "GET" && isSame(url.searchParams.get("state") ?? "", state);
    if (!isOurs) return respond(response, pages.unknown);
    const code = url.searchParams.get("code");
    const description = "The login was denied";
    const denied = { kind: "login-refused", error: "access_denied", description } as const;
    // Afterwards, because the listener is closed then.
    return code === null
      ? respond(response, pages.denied, () => reject(clientFailure(denied)))
      : respond(response, pages.connected, () => resolve(code));
  });
  return promise;
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

type ResponsePage = readonly [status: number, title: string, text: string];

const pages = {
  unknown: [404, "Not found", "This is not the page of a login."],
  denied: [200, "Access denied", "The command line got no access. You can close this page."],
  connected: [200, "Command line connected", "You can close this page and return to your terminal."],
} as const satisfies Readonly<Record<string, ResponsePage>>;

function respond(response: ServerResponse, [status, title, text]: ResponsePage, onSent?: () => void): void {
  // Also when the browser goes away before it has the whole page.
  if (onSent !== undefined) response.once("close", onSent);
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    connection: "close",
  });
  response.end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Keep</title>
<style>body { margin: 15vh auto; max-width: 30rem; padding: 0 1.5rem; font: 1rem/1.5 system-ui, sans-serif }</style>
<h1>${title}</h1>
<p>${text}</p>
`);
}
