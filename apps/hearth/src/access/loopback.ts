import { isIPv4 } from "node:net";

/** Whether a listen address is unreachable from other machines. */
export function isLoopbackAddress(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** Whether a host name without port, from a `Host` or `Origin` header, always means the local machine. */
export function isLoopbackName(name: string): boolean {
  // Names under .localhost cannot be registered (RFC 6761); Tauri apps use one on Windows.
  return name === "[::1]" || name.endsWith(".localhost") || (name !== "::1" && isLoopbackAddress(name));
}
