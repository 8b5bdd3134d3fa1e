import { isIPv4, isIPv6 } from "node:net";
import { isLoopbackAddress, isLoopbackName } from "./loopback.ts";

/** By which names the server may be called, and the pages of which sites may call it. */
export type Sites = {
  /** Beside this machine's loopback names: `name`, `name:port`, or with a star for a part of it. */
  readonly hosts: readonly string[];
  /** Whether any plain IP address will do. No page of another site can make its own name look like one. */
  readonly takesAddresses: boolean;
  /** Beside loopback pages and desktop programs: `scheme://host[:port]`, or with a star for a part of it. */
  readonly origins: readonly string[];
};

export const loopbackSites: Sites = { hosts: [], takesAddresses: false, origins: [] };

export type SiteSettings = {
  /** The address that is bound. */
  readonly host: string;
  /** What this machine calls itself. */
  readonly machineName: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
};

export function sitesFor({ host, machineName, allowedHosts, allowedOrigins }: SiteSettings): Sites {
  const isLocal = isLoopbackAddress(host);
  const names = isLocal ? [] : [machineName, `${machineName}.local`, ...boundName(host)];
  return {
    hosts: [...allowedHosts, ...names].map((name) => name.toLowerCase()),
    takesAddresses: !isLocal,
    origins: allowedOrigins.map((origin) => origin.toLowerCase()),
  };
}

/** An address that is bound is allowed as any other one; the one that stands for all is no address to call. */
function boundName(host: string): readonly string[] {
  return isIPv4(host) || isIPv6(host) ? [] : [host];
}

const authority =
  /^(?<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?)(?::(?<port>[0-9]{1,5}))?$/u;
const mostPort = 65_535;

/** Decides on a `Host` header. Its port is compared only with entries that have one, because ports get forwarded. */
export function isAllowedHost(header: string, sites: Sites): boolean {
  const text = header.toLowerCase();
  const { name, port = "0" } = authority.exec(text)?.groups ?? {};
  if (name === undefined || Number(port) > mostPort) return false;
  if (isLoopbackName(name) || (sites.takesAddresses && isCallableAddress(name))) return true;
  return sites.hosts.some((entry) => matches(entry, name) || matches(entry, text));
}

/** Desktop programs show their pages under schemes of their own, which no site on the web can have. */
const desktopOrigin = /^(?:app|tauri|vscode-webview|vscode-file):\/\/[a-z0-9._-]{1,253}$/u;

/** Decides on an `Origin` header of a request whose host is allowed. */
export function isAllowedOrigin(header: string, host: string, sites: Sites): boolean {
  const origin = header.toLowerCase();
  return isSameOrigin(origin, host) || isLoopbackPage(origin) || isListedOrigin(origin, sites);
}

/** A page that this server itself gave out. */
export function isSameOrigin(origin: string, host: string): boolean {
  const [scheme, name] = origin.toLowerCase().split("://");
  return (scheme === "http" || scheme === "https") && name === host.toLowerCase();
}

function isLoopbackPage(origin: string): boolean {
  const { rest = "" } = /^https?:\/\/(?<rest>.+)$/u.exec(origin)?.groups ?? {};
  const { name = "", port = "0" } = authority.exec(rest)?.groups ?? {};
  return isLoopbackName(name) && Number(port) <= mostPort;
}

function isListedOrigin(origin: string, { origins }: Sites): boolean {
  return desktopOrigin.test(origin) || origins.some((entry) => matches(entry, origin));
}

function isCallableAddress(name: string): boolean {
  if (isIPv4(name)) return name !== "0.0.0.0";
  const inner = name.slice(1, -1);
  return name.startsWith("[") && isIPv6(inner) && /[1-9a-f]/u.test(inner);
}

/** One star stands for one or more characters; `null`, which any page can make itself, only for itself. */
function matches(entry: string, text: string): boolean {
  const star = entry.indexOf("*");
  if (star === -1 || text === "null") return entry === text;
  const [before, after] = [entry.slice(0, star), entry.slice(star + 1)];
  return text.length >= entry.length && text.startsWith(before) && text.endsWith(after);
}
