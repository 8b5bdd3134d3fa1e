/**
 * @module
 * Requests as bytes on a socket, for input that clients would normalize: repeated headers, unusual paths and hosts.
 * Imported by the tests of `access/`.
 */
import { once } from "node:events";
import { connect } from "node:net";

export type RawRequest = {
  readonly method: string;
  readonly path: string;
  /** In order; names may repeat. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string;
};

export type RawResponse = { readonly status: number; readonly head: string };

export async function sendRaw(url: string, request: RawRequest): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.write(textOf(request));
  await once(socket, "close");
  const [head = ""] = Buffer.concat(chunks).toString("latin1").split("\r\n\r\n", 1);
  return { status: Number(/^HTTP\/1\.1 (\d{3})/u.exec(head)?.[1]), head };
}

function textOf({ method, path, headers, body }: RawRequest): string {
  const sized = body === undefined ? headers : [...headers, ["content-length", String(body.length)] as const];
  const lines = [...sized, ["connection", "close"] as const].map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, ...lines, "", body ?? ""].join("\r\n");
}
