import { isIPv4 } from "node:net";

/** Whether an address to bind is out of reach for other machines. */
export function isLoopbackAddress(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** Whether a name in a `Host` or `Origin` header, without its port, can only mean the machine it was typed on. */
export function isLoopbackName(name: string): boolean {
  // Names under .localhost are nobody's to register (RFC 6761); Tauri's pages have one on Windows.
  return name === "[::1]" || name.endsWith(".localhost") || (name !== "::1" && isLoopbackAddress(name));
}
