const localPath = /^\/(?:[A-Za-z0-9][A-Za-z0-9._~/?&=%-]*)?$/u;
const maxCharacters = 512;

/** The requested redirect target if it is a path on this server, otherwise `/`. Prevents open redirects. */
export function safeReturnTo(requested: unknown, publicUrl: URL): string {
  if (typeof requested !== "string" || requested.length > maxCharacters || !localPath.test(requested))
    return "/";
  const url = URL.parse(requested, publicUrl.href);
  // A path that changes when resolved, e.g. because of dot segments, is parsed differently by different browsers.
  return url !== null && url.origin === publicUrl.origin && url.pathname + url.search === requested
    ? requested
    : "/";
}
