import { Type } from "typebox";
import { invalidField } from "../../failures.ts";

/** The query of a list; parameters that are not listed are allowed, ignored and named in the response. */
export const pageQuery = Type.Object({
  // The values of all three are checked below.
  after_id: Type.Optional(Type.Unknown()),
  // As above.
  before_id: Type.Optional(Type.Unknown()),
  // As above.
  limit: Type.Optional(Type.Unknown()),
});

const defaultLimit = 20;
const maxLimit = 1000;

type Listed = { readonly id: string };

type Page<Item extends Listed> = {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
};

/** The items after `after_id`, or before `before_id`. An unknown id yields an empty page. */
export function selectPage<Item extends Listed>(
  all: readonly Item[],
  query: Readonly<Record<string, unknown>>,
): Page<Item> {
  const limit = readLimit(query["limit"]);
  const { after_id: after, before_id: before } = query;
  if (typeof before === "string" && before !== "") {
    const end = Math.max(0, indexOf(all, before));
    const start = Math.max(0, end - limit);
    return toPage(all.slice(start, end), start > 0);
  }
  const start = typeof after === "string" && after !== "" ? indexOf(all, after) + 1 : 0;
  return toPage(all.slice(start, start + limit), start + limit < all.length);
}

function toPage<Item extends Listed>(items: readonly Item[], hasMore: boolean): Page<Item> {
  return {
    data: items,
    has_more: hasMore,
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
  };
}

function indexOf(all: readonly Listed[], wanted: string): number {
  const index = all.findIndex(({ id }) => id === wanted);
  return index < 0 ? all.length : index;
}

function readLimit(value: unknown): number {
  if (value === undefined || value === "") return defaultLimit;
  const limit = Number(value);
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw invalidField("limit", `must be an integer between 1 and ${maxLimit}`);
}
