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

export type Page<Item> = {
  readonly page: readonly Item[];
  /** The cursor of the next page, if there is one. */
  readonly next?: string;
};

/** Expects up to `limit + 1` items; the extra one shows that there is a next page. */
export function toPage<Item>(
  items: readonly Item[],
  limit: number,
  cursorOf: (last: Item) => readonly string[],
): Page<Item> {
  const page = items.slice(0, limit);
  const last = page.at(-1);
  if (items.length <= limit || last === undefined) return { page };
  return { page, next: encodeCursor(cursorOf(last)) };
}

/** Rows read at a time when some may not be allowed. */
const scannedRows = 500;

export type Scan<Item> = {
  readonly limit: number;
  /** Without it, every item is allowed. */
  readonly isAllowed?: ((item: Item) => boolean) | undefined;
  readonly after: readonly string[] | null;
  readonly read: (after: readonly string[] | null, limit: number) => Promise<readonly Item[]>;
  readonly cursorOf: (item: Item) => readonly string[];
};

/** A page of the allowed items, read in several parts if need be, so that no query takes long. */
export async function scanPage<Item>(scan: Scan<Item>): Promise<Page<Item>> {
  const { limit, isAllowed = () => true, read, cursorOf } = scan;
  const partRows = scan.isAllowed === undefined ? limit + 1 : scannedRows;
  const allowed: Item[] = [];
  let after = scan.after;
  for (;;) {
    const part = await read(after, partRows);
    allowed.push(...part.filter(isAllowed));
    const last = part.at(-1);
    // A cursor made from an item that is not allowed would reveal it, so the scan goes on instead.
    if (allowed.length > limit || part.length < partRows || last === undefined) {
      return toPage(allowed, limit, cursorOf);
    }
    after = cursorOf(last);
  }
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
