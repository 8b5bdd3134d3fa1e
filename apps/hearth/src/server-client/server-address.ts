import { callFailure } from "./call-failure.ts";

/** A parsed server address. */
export type ServerAddress = {
  /** Without a trailing slash. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** On the loopback interface, where a background server can be started. */
  readonly isLocal: boolean;
};

const defaultPort = 11_434;
const loopbackHost = "127.0.0.1";

/**
 * Accepts the forms of OLLAMA_HOST: `host`, `host:port`, `:port`, `http://host`, `https://host:port/path`. Bind-all
 * addresses such as `0.0.0.0` become the loopback address.
 */
export function parseServerAddress(text: string, where = "--host"): ServerAddress {
  const [, scheme = "", rest = ""] = /^(?:(https?):\/\/)?(.*)$/iu.exec(text.trim().slice(0, 2048)) ?? [];
  const isBareIpv6 = /^[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*$/iu.test(rest);
  const hostAndPath = isBareIpv6 ? `[${rest}]` : rest.replace(/^(?=:\d)/u, loopbackHost);
  const url = URL.parse(`${scheme === "" ? "http" : scheme.toLowerCase()}://${hostAndPath}`);
  if (
    url === null ||
    rest.includes("://") ||
    url.hostname === "" ||
    url.username !== "" ||
    url.search !== "" ||
    url.hash !== ""
  ) {
    throw callFailure({ kind: "address-invalid", where, text });
  }
  if (["0.0.0.0", "[::]"].includes(url.hostname)) url.hostname = loopbackHost;
  const hasPort = /:\d+(?:\/|$)/u.test(hostAndPath.replace(/^\[[^\]]*\]/u, ""));
  if (scheme === "" && !hasPort) url.port = String(defaultPort);
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return { url: url.href.replace(/\/+$/u, ""), host: url.hostname, port, isLocal: isLoopback(url.hostname) };
}

export function defaultServerAddress(port: string | undefined): ServerAddress {
  return parseServerAddress(`${loopbackHost}:${port ?? defaultPort}`, "HEARTH_PORT");
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/u.test(hostname);
}
