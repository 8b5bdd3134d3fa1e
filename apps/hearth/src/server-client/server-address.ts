import { callFailure } from "./call-failure.ts";

/** Where a server is, as a person wrote it. */
export type ServerAddress = {
  /** Without a slash at the end. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** On this machine, so that it may be started from here. */
  readonly isLocal: boolean;
};

const usualPort = 11_434;
const ownHost = "127.0.0.1";

/**
 * Ollama's forms: `host`, `host:port`, `:port`, `http://host`, `https://host:port/path`. What stands for every address
 * of a machine when a server is bound is called at this machine's own.
 */
export function parseServerAddress(text: string, where = "--host"): ServerAddress {
  const [, scheme = "", rest = ""] = /^(?:(https?):\/\/)?(.*)$/iu.exec(text.trim().slice(0, 2048)) ?? [];
  const isBareIpv6 = /^[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*$/iu.test(rest);
  const named = isBareIpv6 ? `[${rest}]` : rest.replace(/^(?=:\d)/u, ownHost);
  const url = URL.parse(`${scheme === "" ? "http" : scheme.toLowerCase()}://${named}`);
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
  if (["0.0.0.0", "[::]"].includes(url.hostname)) url.hostname = ownHost;
  const hasPort = /:\d+(?:\/|$)/u.test(named.replace(/^\[[^\]]*\]/u, ""));
  if (scheme === "" && !hasPort) url.port = String(usualPort);
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return { url: url.href.replace(/\/+$/u, ""), host: url.hostname, port, isLocal: isOwn(url.hostname) };
}

export function defaultServerAddress(port: string | undefined): ServerAddress {
  return parseServerAddress(`${ownHost}:${port ?? usualPort}`, "HEARTH_PORT");
}

function isOwn(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/u.test(hostname);
}
