import { allExcept } from "../automata/build-automata.ts";
import { choice, type Expression, never, nothing, optional, repeat, sequence, text } from "../grammar.ts";
import { jsonString, member, separated, space } from "../json-rules.ts";
import { writeAutomaton } from "./automaton-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { RuleTable } from "./rule-table.ts";
import { type Enforcement, express } from "./schema-failure.ts";
import type { LocatedSchema } from "./schema-node.ts";
import { quoted } from "./text-rules.ts";

/** The value rules as needed by arrays and objects. */
export type ContainerContext = {
  readonly table: RuleTable;
  readonly enforcement: Enforcement;
  readonly interpretation: "closed" | "literal";
  valueOf(schemas: readonly LocatedSchema[]): Expression;
};

type Field = { readonly expression: Expression; readonly isRequired: boolean };

/**
 * An object with its fields in declaration order, of which optional ones may be omitted, followed by additional ones.
 */
export function writeObject(branch: Branch, context: ContainerContext): Expression {
  const names = new Set([
    ...branch.flatMap(({ object }) => [...object.properties.keys()]),
    ...branch.flatMap(({ object }) => object.required),
  ]);
  const fields = [...names].map((name): Field => {
    const schemas = schemasOf(name, branch, context);
    const expression = member(text(JSON.stringify(name)), context.valueOf(schemas));
    return { expression, isRequired: branch.some(({ object }) => object.required.includes(name)) };
  });
  const additional = writeAdditional(branch, names, context);
  const pointer = branch[0]?.pointer ?? "#";
  const content = chainFields(fields, additional, (expression) => context.table.add(pointer, expression));
  return sequence(text("{"), space, content, text("}"));
}

/**
 * The schemas of a field. Two objects combined by `allOf` that both forbid undeclared fields contradict each other by the
 * specification, but libraries write intersections this way and mean the fields of both.
 */
function schemasOf(name: string, branch: Branch, { enforcement }: ContainerContext): LocatedSchema[] {
  const isDeclared = branch.some(({ object }) => object.properties.has(name));
  return branch.flatMap(({ object }): LocatedSchema[] => {
    const own = object.properties.get(name);
    const additional = object.additional === undefined ? [] : [object.additional];
    if (own !== undefined) return [own];
    const isClosed = additional.some(({ schema }) => schema === false);
    return isDeclared && isClosed && enforcement === "lenient" ? [] : additional;
  });
}

/** An undeclared field. Its name must differ from all declared ones, because a duplicate would replace their value. */
function writeAdditional(branch: Branch, names: ReadonlySet<string>, context: ContainerContext): Expression {
  const schemas = branch.flatMap(({ object }) => object.additional ?? []);
  const hasDeclared = branch.some(({ object }) => object.properties.size > 0);
  const isClosed = schemas.length === 0 && hasDeclared && context.interpretation === "closed";
  if (isClosed || schemas.some(({ schema }) => schema === false)) return never;
  const pointer = branch[0]?.pointer ?? "#";
  const key =
    names.size === 0
      ? jsonString
      : (express(context.enforcement, { keyword: "additionalProperties", pointer }, () =>
          quoted(writeAutomaton(allExcept([...names]), `${pointer}/key`, context.table)),
        ) ?? jsonString);
  return context.table.add(`${pointer}/additional`, member(key, context.valueOf(schemas)));
}

/**
 * Two chains of rules, from the last field to the first: `after` if another field precedes and a comma is needed, `first`
 * if none does. Both can skip an optional field.
 */
function chainFields(
  fields: readonly Field[],
  additional: Expression,
  name: (expression: Expression) => Expression,
): Expression {
  const additionalAfter = repeat(sequence(text(","), space, additional), 0, Number.POSITIVE_INFINITY);
  let after = name(sequence(additionalAfter, space));
  let first = name(optional(separated(additional)));
  for (const { expression, isRequired } of fields.toReversed()) {
    const started = sequence(expression, after);
    first = name(choice(started, ...(isRequired ? [] : [first])));
    const continued = sequence(text(","), space, expression, after);
    after = name(choice(continued, ...(isRequired ? [] : [after])));
  }
  return fields.length === 0 && additional === never ? nothing : first;
}
