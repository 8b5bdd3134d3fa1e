const maxHeadBytes = 64 * 1024;
const headEnd = "\r\n\r\n";

type HeadSearch =
  | { readonly found: "head"; readonly length: number; readonly isInterim: boolean }
  | { readonly found: "unfinished" }
  | { readonly found: "none" };

/** Searches for an HTTP/1 head at the start of a turn; "unfinished" means that more bytes are needed. */
export function searchHead(bytes: Buffer): HeadSearch {
  const lineEnd = bytes.indexOf("\r\n");
  const line = bytes.toString("latin1", 0, lineEnd === -1 ? maxHeadBytes : lineEnd);
  if (!(lineEnd === -1 ? startsLikeHead : firstLine).test(line)) return { found: "none" };
  const end = bytes.indexOf(headEnd);
  if (end === -1) return { found: bytes.length > maxHeadBytes ? "none" : "unfinished" };
  // After "100 Continue" the real head follows in the same turn; "101" ends HTTP.
  const isInterim = /^HTTP\/1\.1 1(?!01)/.test(line);
  return { found: "head", length: end + headEnd.length, isInterim };
}

const firstLine = /^(HTTP\/1\.[01] \d{3}|[A-Z]+ \S+ HTTP\/1\.[01]$)/;
const startsLikeHead = /^[A-Z]+(\/[\d.]*)?( [^\n]*)?$/;

/** The head with a changed Content-Length, or undefined if it has none. */
export function changeContentLength(head: Buffer, addBytes: number): Buffer | undefined {
  const text = head.toString("latin1");
  const changed = text.replace(
    /^(content-length:[ \t]*)(\d+)/im,
    (_, name: string, length: string) => `${name}${Math.max(0, Number(length) + addBytes)}`,
  );
  return changed === text ? undefined : Buffer.from(changed, "latin1");
}
