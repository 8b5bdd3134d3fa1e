import type { CheckCase } from "./check-case.ts";

export const oneWayOut: CheckCase = {
  broken: {
    "apps/hearth/src/models/pull.ts": `
import { request } from "node:https";
import http from "node:http";
import * as net from "node:net";
import { type Socket, connect } from "net";
import "undici";
export { lookup } from "node:dns/promises";

export const response = await fetch("https://registry.example/v2/");
export const sameResponse = await globalThis.fetch("https://registry.example/v2/");
export const dependencies = { fetch };
export const events = new WebSocket("wss://registry.example");
export const secure = await import("node:tls");
export const datagrams = process.getBuiltinModule("node:dgram");
export const all = [request, http, net, connect] satisfies unknown[];
export type Open = Socket;
`,
    "packages/http-service/src/proxy.ts": `
import { createServer, get } from "node:http";

export const server = createServer((_request, response) => get("http://127.0.0.1", () => response.end()));
`,
  },
  valid: {
    "apps/hearth/src/pull.test.ts":
      'export const response = await fetch("http://127.0.0.1:11434/api/version");',
    "apps/hearth/src/pull.ts": `
import { isIP } from "node:net";
import type { IncomingMessage } from "node:http";
import { type Socket, isIPv4 } from "node:net";

export type Source = { fetch(range: string): Promise<Uint8Array> };

export async function pull(source: Source, address: string): Promise<Uint8Array> {
  if (isIP(address) === 0 || isIPv4(address)) throw new Error("Cannot fetch from this address");
  return source.fetch("bytes=0-");
}

export type Connection = { readonly message: IncomingMessage; readonly socket: Socket };
`,
    "apps/hearth/src/test/send.ts": `
import { request } from "node:http";

export const send = request;
`,
    "packages/http-service/src/service.ts": `
import { createServer } from "node:http";

export const server = createServer();
`,
    "packages/outbound-http/src/exchange.ts": `
import { request } from "node:https";

export const exchange = request;
`,
  },
  expected: [
    "apps/hearth/src/models/pull.ts:1",
    "apps/hearth/src/models/pull.ts:2",
    "apps/hearth/src/models/pull.ts:3",
    "apps/hearth/src/models/pull.ts:4",
    "apps/hearth/src/models/pull.ts:5",
    "apps/hearth/src/models/pull.ts:6",
    "apps/hearth/src/models/pull.ts:8",
    "apps/hearth/src/models/pull.ts:9",
    "apps/hearth/src/models/pull.ts:10",
    "apps/hearth/src/models/pull.ts:11",
    "apps/hearth/src/models/pull.ts:12",
    "apps/hearth/src/models/pull.ts:13",
    "packages/http-service/src/proxy.ts:1",
  ],
};
