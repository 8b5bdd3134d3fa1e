import { isIPv4, isIPv6 } from "node:net";
import { isLoopbackAddress, isLoopbackName } from "./loopback.ts";

/** The host names under which the server may be called, and the origins whose pages may call it. */
export type AllowedSites = {
  /** In addition to loopback names: `name` or `name:port`, with an optional `*` wildcard. */
  readonly hosts: readonly string[];
  /** Allows any IP address as the host. Safe, because DNS rebinding requires a host name. */
  readonly allowsIpAddresses: boolean;
  /** In addition to loopback and desktop origins: `scheme://host[:port]`, with an optional `*` wildcard. */
  readonly origins: readonly string[];
};

export const loopbackSites: AllowedSites = { hosts: [], allowsIpAddresses: false, origins: [] };

export type AllowedSitesSettings = {
  /** The address that the server listens on. */
  readonly host: string;
  /** The host name of this machine. */
  readonly machineName: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
};

export function createAllowedSites({
  host,
  machineName,
  allowedHosts,
  allowedOrigins,
}: AllowedSitesSettings): AllowedSites {
  const isLocal = isLoopbackAddress(host);
  const names = isLocal ? [] : [machineName, `${machineName}.local`, ...boundName(host)];
  return {
    hosts: [...allowedHosts, ...names].map((name) => name.toLowerCase()),
    allowsIpAddresses: !isLocal,
    origins: allowedOrigins.map((origin) => origin.toLowerCase()),
  };
}

/** A bound IP address needs no entry, because all IP addresses are then allowed. */
function boundName(host: string): readonly string[] {
  return isIPv4(host) || isIPv6(host) ? [] : [host];
}

const authority =
  /^(?<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?)(?::(?<port>[0-9]{1,5}))?$/u;
const maxPort = 65_535;

/** Checks a `Host` header. The port matters only for entries that have one, because ports may be forwarded. */
export function isAllowedHost(header: string, sites: AllowedSites): boolean {
  const text = header.toLowerCase();
  const { name, port = "0" } = authority.exec(text)?.groups ?? {};
  if (name === undefined || Number(port) > maxPort) return false;
  if (isLoopbackName(name) || (sites.allowsIpAddresses && isCallableAddress(name))) return true;
  return sites.hosts.some((entry) => matches(entry, name) || matches(entry, text));
}

/** Desktop apps use custom schemes that no website can have. */
const desktopOrigin = /^(?:app|tauri|vscode-webview|vscode-file):\/\/[a-z0-9._-]{1,253}$/u;

/** Checks an `Origin` header of a request whose host is allowed. */
export function isAllowedOrigin(header: string, host: string, sites: AllowedSites): boolean {
  const origin = header.toLowerCase();
  return isSameOrigin(origin, host) || isLoopbackPage(origin) || isListedOrigin(origin, sites);
}

/** A page that this server itself served. */
export function isSameOrigin(origin: string, host: string): boolean {
  const [scheme, name] = origin.toLowerCase().split("://");
  return (scheme === "http" || scheme === "https") && name === host.toLowerCase();
}

function isLoopbackPage(origin: string): boolean {
  const { rest = "" } = /^https?:\/\/(?<rest>.+)$/u.exec(origin)?.groups ?? {};
  const { name = "", port = "0" } = authority.exec(rest)?.groups ?? {};
  return isLoopbackName(name) && Number(port) <= maxPort;
}

function isListedOrigin(origin: string, { origins }: AllowedSites): boolean {
  return desktopOrigin.test(origin) || origins.some((entry) => matches(entry, origin));
}

function isCallableAddress(name: string): boolean {
  if (isIPv4(name)) return name !== "0.0.0.0";
  const inner = name.slice(1, -1);
  return name.startsWith("[") && isIPv6(inner) && /[1-9a-f]/u.test(inner);
}

/** A `*` matches one or more characters. The origin `null`, which any page can have, matches only literally. */
function matches(entry: string, text: string): boolean {
  const star = entry.indexOf("*");
  if (star === -1 || text === "null") return entry === text;
  const [before, after] = [entry.slice(0, star), entry.slice(star + 1)];
  return text.length >= entry.length && text.startsWith(before) && text.endsWith(after);
}
