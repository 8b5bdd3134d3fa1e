const loopbackHosts = ["127.0.0.1", "[::1]", "localhost"];

/**
 * Whether an application may have its answers sent there. Looser than the exact match of RFC 9700, as documented by
 * the real one: a subdomain or a path below the registered callback passes, and any port when both are loopback.
 */
export function isAllowedRedirect(callbackUrl: string, wanted: string): boolean {
  if (!URL.canParse(wanted)) return false;
  const callback = new URL(callbackUrl);
  const target = new URL(wanted);
  const isSameHost =
    target.hostname === callback.hostname || target.hostname.endsWith(`.${callback.hostname}`);
  const isAnyPort = loopbackHosts.includes(callback.hostname) && loopbackHosts.includes(target.hostname);
  const isBelow =
    target.pathname === callback.pathname || target.pathname.startsWith(asFolder(callback.pathname));
  return (
    target.protocol === callback.protocol &&
    isSameHost &&
    (isAnyPort || target.port === callback.port) &&
    isBelow
  );
}

function asFolder(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
