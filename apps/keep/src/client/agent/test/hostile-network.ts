import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

const proxyPort = 3128;
const patienceMilliseconds = 4000;

/** Everything that arrives until the other side ends or nothing more comes. */
export async function readAll(socket: Socket, patience = patienceMilliseconds): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("error", (error) => (text += `\n${error.message}`));
  socket.setTimeout(patience, () => socket.destroy());
  if (!socket.destroyed) await once(socket, "close");
  return text;
}

/** A connection through the proxy; throws with what it answers instead. */
async function openTunnel(authority: string, port = proxyPort): Promise<Socket> {
  const socket = connectPlain(port, "127.0.0.1");
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n`);
  // The head of the response arrives in one write.
  const [head] = await once(socket, "data");
  const text = String(head);
  if (!text.startsWith("HTTP/1.1 200")) throw new Error(text);
  return socket;
}

export type RawOptions = {
  /** Of the handshake. */
  readonly serverName?: string;
  readonly protocols?: string[];
};

export async function openSecure(authority: string, options: RawOptions = {}): Promise<TLSSocket> {
  const socket = await openTunnel(authority);
  const secured = connectTls({
    socket,
    servername: options.serverName ?? authority.split(":")[0] ?? "",
    // With another name, what the proxy does about it is tested.
    rejectUnauthorized: options.serverName === undefined,
    ...(options.protocols === undefined ? {} : { ALPNProtocols: options.protocols }),
  });
  await once(secured, "secureConnect");
  return secured;
}

/** Sends these bytes as they are, and returns everything that comes back. */
export async function sendRaw(authority: string, text: string, options: RawOptions = {}): Promise<string> {
  const socket = await openSecure(authority, options);
  const reading = readAll(socket);
  socket.write(text);
  return reading;
}

export type RawRequest = {
  readonly host: string;
  readonly path: string;
  readonly method?: string;
  /** Lines of the head. */
  readonly headers?: readonly string[];
  readonly body?: string;
};

export function formatRequest({ host, path, method = "GET", headers = [], body = "" }: RawRequest): string {
  const length = body === "" ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`, ...headers, ...length, "connection: close"];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

export function send(request: RawRequest): Promise<string> {
  return sendRaw(request.host, formatRequest(request));
}

/** Without the proxy. */
export async function connectDirectly(port: number, host: string): Promise<string> {
  const socket = connectPlain(port, host);
  const reading = readAll(socket, 1000);
  socket.on("connect", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
  return reading;
}

export async function sendToProxy(text: string): Promise<string> {
  const socket = connectPlain(proxyPort, "127.0.0.1");
  const reading = readAll(socket);
  socket.write(text);
  return reading;
}
