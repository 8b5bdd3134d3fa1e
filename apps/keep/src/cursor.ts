import { requestFailure } from "./failures.ts";

/** Where a page ended: texts of its last row, which whoever reads the list knows already. */
function writeCursor(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts), "utf8").toString("base64url");
}

/** Null at the beginning. What we did not write is refused; it could lead nowhere but within the caller's own list. */
export function readCursor(
  text: string | undefined,
  isGood: (parts: readonly string[]) => boolean,
): readonly string[] | null {
  if (text === undefined) return null;
  const parts = parse(Buffer.from(text, "base64url").toString("utf8"));
  if (!Array.isArray(parts) || !parts.every(isCleanText) || !isGood(parts)) {
    throw requestFailure({
      kind: "request-invalid",
      mistakes: [{ place: "cursor", reason: "must be one that a page ended with" }],
    });
  }
  return parts;
}

/** A page of what was asked for, when one more was fetched than it may hold. */
export function cutPage<Item>(
  items: readonly Item[],
  limit: number,
  cursorOf: (last: Item) => readonly string[],
): { readonly page: readonly Item[]; readonly next?: string } {
  const page = items.slice(0, limit);
  const last = page.at(-1);
  if (items.length <= limit || last === undefined) return { page };
  return { page, next: writeCursor(cursorOf(last)) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The database takes no null character. */
function isCleanText(part: unknown): part is string {
  return typeof part === "string" && !part.includes("\0") && part.isWellFormed();
}
