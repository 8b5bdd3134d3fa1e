import { invalidField } from "../../failures.ts";

type Listed = { readonly id: string };

export type PageQuery = {
  readonly after?: string;
  readonly limit?: string;
  readonly order?: "asc" | "desc";
};

type PageOptions = { readonly defaultLimit: number; readonly maxLimit: number };

/** One page of a list whose newest item is the first. */
export function listPage<Item extends Listed>(
  newestFirst: readonly Item[],
  { after, limit, order }: PageQuery,
  { defaultLimit, maxLimit }: PageOptions,
) {
  const ordered = order === "asc" ? newestFirst.toReversed() : newestFirst;
  const size = limit === undefined ? defaultLimit : Number(limit);
  if (!(size >= 1 && size <= maxLimit)) throw invalidField("limit", `must be between 1 and ${maxLimit}`);
  const position = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== undefined && position === -1) {
    throw invalidField("after", `is "${after}", which is not the id of an item in this list`);
  }
  const items = ordered.slice(position + 1, position + 1 + size);
  return {
    object: "list",
    data: items,
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
    has_more: position + 1 + size < ordered.length,
  } as const;
}
