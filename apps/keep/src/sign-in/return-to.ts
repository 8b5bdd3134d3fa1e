const anywhereOfOurs = /^\/(?:[A-Za-z0-9][A-Za-z0-9._~/?&=%-]*)?$/u;
const mostCharacters = 512;

/** Where a browser goes after a sign-in: a path of ours as it was asked for, or the first page. */
export function safeReturnTo(asked: unknown, publicUrl: URL): string {
  if (typeof asked !== "string" || asked.length > mostCharacters || !anywhereOfOurs.test(asked)) return "/";
  const url = URL.parse(asked, publicUrl.href);
  // A path that changes when it is resolved has something in it that browsers do not agree about.
  return url !== null && url.origin === publicUrl.origin && url.pathname + url.search === asked ? asked : "/";
}
