import { Agent, request } from "node:http";
import { connect } from "node:net";
import type { Refusal } from "./error-shape.ts";

export type HttpAnswer = Refusal;

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** Sends a body that is well framed, whatever is in it, and reads the whole answer. */
export function sendBody(url: string, method: string, body: string | Buffer): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const outgoing = request(url, { method, agent, headers }, (incoming) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.once("error", reject);
    incoming.once("end", () => {
      resolve({
        status: incoming.statusCode ?? 0,
        contentType: incoming.headers["content-type"] ?? "",
        body: Buffer.concat(chunks).toString(),
      });
    });
  });
  outgoing.once("error", reject);
  outgoing.end(body);
  return promise;
}

/** Everything that comes back for these bytes until the connection ends, or for a while when it does not. */
export function sendBytes(url: string, bytes: Buffer): Promise<readonly HttpAnswer[]> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<readonly HttpAnswer[]>();
  const socket = connect(Number(port), hostname);
  let received = "";
  const finish = (): void => resolve(splitAnswers(received));
  socket.setEncoding("latin1");
  socket.setTimeout(5000, () => socket.destroy());
  socket.on("data", (text: string) => {
    received += text;
  });
  // A server that has said enough may end the connection while we still send.
  socket.on("error", () => undefined);
  socket.once("close", finish);
  socket.end(bytes);
  return promise;
}

function splitAnswers(received: string): readonly HttpAnswer[] {
  return received
    .split(/(?=HTTP\/1\.1 \d{3} )/u)
    .filter((text) => text !== "")
    .map((text) => {
      const [head = "", body = ""] = text.split(/\r\n\r\n(.*)/su);
      return {
        status: Number(/^HTTP\/1\.1 (\d{3})/u.exec(head)?.[1] ?? 0),
        contentType: /^content-type: (.*)$/imu.exec(head)?.[1]?.trim() ?? "",
        body,
      };
    });
}
