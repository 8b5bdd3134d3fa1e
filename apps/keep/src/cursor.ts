import { requestFailure } from "./failures.ts";

/** The sort key of a page's last row. It contains nothing that the page itself did not. */
function encodeCursor(values: readonly string[]): string {
  return Buffer.from(JSON.stringify(values), "utf8").toString("base64url");
}

/** Null for the first page. A forged cursor can only move within the caller's own list. */
export function decodeCursor(
  text: string | undefined,
  isValid: (values: readonly string[]) => boolean,
): readonly string[] | null {
  if (text === undefined) return null;
  const values = parse(Buffer.from(text, "base64url").toString("utf8"));
  if (!Array.isArray(values) || !values.every(isStorableText) || !isValid(values)) {
    throw requestFailure({
      kind: "request-invalid",
      errors: [{ field: "cursor", reason: "must be a next_cursor returned by this list" }],
    });
  }
  return values;
}

/** Expects up to `limit + 1` items; the extra one shows that there is a next page. */
export function toPage<Item>(
  items: readonly Item[],
  limit: number,
  cursorOf: (last: Item) => readonly string[],
): { readonly page: readonly Item[]; readonly next?: string } {
  const page = items.slice(0, limit);
  const last = page.at(-1);
  if (items.length <= limit || last === undefined) return { page };
  return { page, next: encodeCursor(cursorOf(last)) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** PostgreSQL text cannot contain a null character. */
function isStorableText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0") && value.isWellFormed();
}
