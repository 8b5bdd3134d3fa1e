const loopbackHosts = ["127.0.0.1", "[::1]", "localhost"];

/**
 * Whether an application may use a redirect URI. Looser than the exact match of RFC 9700, as GitHub documents it: a
 * subdomain or a path below the registered callback is allowed, and any port when both are loopback.
 */
export function isAllowedRedirect(callbackUrl: string, redirectUri: string): boolean {
  if (!URL.canParse(redirectUri)) return false;
  const callback = new URL(callbackUrl);
  const target = new URL(redirectUri);
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
