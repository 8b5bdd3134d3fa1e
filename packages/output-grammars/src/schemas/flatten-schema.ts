import type { SchemaDocument } from "./schema-document.ts";
import { leaveOut } from "./schema-failure.ts";
import type { Alternatives, LocatedSchema, SchemaNode } from "./schema-node.ts";

/** Nodes that a value must all satisfy, without references or combinations; an empty branch accepts any value. */
export type Branch = readonly SchemaNode[];

export type FlattenContext = {
  readonly document: SchemaDocument;
  /** Rejects a `oneOf` if a value can match two of its options. */
  readonly checkDisjoint: (options: readonly LocatedSchema[], pointer: string) => void;
};

const maxBranches = 256;
const maxChain = 200;

/** The alternatives that remain if all schemas must hold; none if they contradict each other. */
export function flattenSchemas(
  schemas: readonly LocatedSchema[],
  context: FlattenContext,
): readonly Branch[] {
  const unions = schemas.map((located) => flatten(located, [], context));
  return combine(unions, { ...context, pointer: schemas[0]?.pointer ?? "#" });
}

function flatten(
  located: LocatedSchema,
  ancestors: readonly string[],
  context: FlattenContext,
): readonly Branch[] {
  const node = context.document.read(located);
  if (node === true) return [[]];
  if (node === false) return [];
  // A schema that refers to itself without descending into a value constrains nothing.
  if (ancestors.includes(node.pointer) || ancestors.length > maxChain) {
    leaveOut(context.document.enforcement, { keyword: "$ref", pointer: node.pointer });
    return [[]];
  }
  const path = [...ancestors, node.pointer];
  const isUnconstrained =
    node.types === undefined && node.impliedTypes.size === 0 && node.valueLists.length === 0;
  const unions = node.alternatives.map((alternatives) =>
    flattenAlternatives(alternatives, path, { ...context, pointer: node.pointer }),
  );
  const also = node.also.map((schema) => flatten(schema, path, context));
  const own: readonly Branch[] = [isUnconstrained ? [] : [node]];
  return combine([own, ...also, ...unions], { ...context, pointer: node.pointer });
}

type LocatedContext = FlattenContext & { readonly pointer: string };

function flattenAlternatives(
  { keyword, options }: Alternatives,
  ancestors: readonly string[],
  context: LocatedContext,
): readonly Branch[] {
  if (keyword === "oneOf") context.checkDisjoint(options, context.pointer);
  return distinct(options.flatMap((option) => flatten(option, ancestors, context)));
}

function combine(
  unions: readonly (readonly Branch[])[],
  { document, pointer }: LocatedContext,
): readonly Branch[] {
  let combined: readonly Branch[] = [[]];
  for (const union of unions) {
    if (combined.length * union.length > maxBranches) {
      leaveOut(document.enforcement, { keyword: "anyOf", pointer });
      continue;
    }
    combined = combined.flatMap((branch) => union.map((other) => join(branch, other)));
  }
  return distinct(combined);
}

/** In declaration order, because fields are written in that order. */
function join(one: Branch, other: Branch): Branch {
  return [...new Set([...one, ...other])];
}

function distinct(branches: readonly Branch[]): readonly Branch[] {
  const byKey = new Map(branches.map((branch) => [keyOfBranch(branch), branch]));
  const any = byKey.get("");
  return any === undefined ? [...byKey.values()] : [any];
}

export function keyOfBranch(branch: Branch): string {
  return branch.map(({ pointer }) => pointer).join("\n");
}
