import { Agent, request } from "node:http";
import { connect } from "node:net";
import type { ErrorResponse } from "./error-shape.ts";

export type ReceivedResponse = ErrorResponse;

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** Sends a correctly framed body with any content, and reads the complete response. */
export function sendBody(url: string, method: string, body: string | Buffer): Promise<ReceivedResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedResponse>();
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

/** Sends raw bytes and returns all responses until the connection closes or times out. */
export function sendBytes(url: string, bytes: Buffer): Promise<readonly ReceivedResponse[]> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<readonly ReceivedResponse[]>();
  const socket = connect(Number(port), hostname);
  let received = "";
  const finish = (): void => resolve(splitResponses(received));
  socket.setEncoding("latin1");
  socket.setTimeout(5000, () => socket.destroy());
  socket.on("data", (text: string) => {
    received += text;
  });
  // A server that has responded may close the connection while the request is still being sent.
  socket.on("error", () => undefined);
  socket.once("close", finish);
  socket.end(bytes);
  return promise;
}

function splitResponses(received: string): readonly ReceivedResponse[] {
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
