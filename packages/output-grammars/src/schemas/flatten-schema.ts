import type { SchemaDocument } from "./schema-document.ts";
import { unsupported } from "./schema-failure.ts";
import type { Alternatives, Located, SchemaNode } from "./schema-node.ts";

/** Nodes that must all hold, without references or combinations; none at all is any value. */
export type Branch = readonly SchemaNode[];

export type FlattenContext = {
  readonly document: SchemaDocument;
  /** Refuses a `oneOf` of which two may hold at once. */
  readonly checkApart: (options: readonly Located[], place: string) => void;
};

const mostBranches = 256;
const deepestChain = 200;

/** Of several schemas that must all hold, the alternatives that are left; none when they contradict each other. */
export function flattenSchemas(schemas: readonly Located[], parts: FlattenContext): readonly Branch[] {
  return combine(
    schemas.map((located) => flatten(located, [], parts)),
    schemas[0]?.place ?? "#",
  );
}

function flatten(located: Located, above: readonly string[], parts: FlattenContext): readonly Branch[] {
  const node = parts.document.read(located);
  if (node === true) return [[]];
  if (node === false) return [];
  // A schema that refers to itself without a step downwards says nothing about any value.
  if (above.includes(node.place) || above.length > deepestChain) throw unsupported("$ref", node.place);
  const below = [...above, node.place];
  const isPlain = node.types === undefined && node.impliedTypes.size === 0 && node.valueLists.length === 0;
  const unions = node.alternatives.map((alternatives) =>
    flattenAlternatives(alternatives, below, { ...parts, place: node.place }),
  );
  const also = node.also.map((schema) => flatten(schema, below, parts));
  return combine([[isPlain ? [] : [node]], ...also, ...unions], node.place);
}

function flattenAlternatives(
  { keyword, options }: Alternatives,
  above: readonly string[],
  parts: FlattenContext & { readonly place: string },
): readonly Branch[] {
  if (keyword === "oneOf") parts.checkApart(options, parts.place);
  return distinct(options.flatMap((option) => flatten(option, above, parts)));
}

function combine(unions: readonly (readonly Branch[])[], place: string): readonly Branch[] {
  let combined: readonly Branch[] = [[]];
  for (const union of unions) {
    if (combined.length * union.length > mostBranches) throw unsupported("anyOf", place);
    combined = combined.flatMap((branch) => union.map((other) => join(branch, other)));
  }
  return distinct(combined);
}

/** In the order they are declared, because fields are written in that order. */
function join(one: Branch, other: Branch): Branch {
  return [...new Set([...one, ...other])];
}

function distinct(branches: readonly Branch[]): readonly Branch[] {
  const byKey = new Map(branches.map((branch) => [keyOfBranch(branch), branch]));
  const any = byKey.get("");
  return any === undefined ? [...byKey.values()] : [any];
}

export function keyOfBranch(branch: Branch): string {
  return branch.map(({ place }) => place).join("\n");
}
