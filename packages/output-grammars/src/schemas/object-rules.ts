import { allBut } from "../automata/build-automata.ts";
import { choice, type Expression, never, nothing, optional, repeat, sequence, text } from "../grammar.ts";
import { jsonString, member, separated, space } from "../json-rules.ts";
import { writeAutomaton } from "./automaton-rules.ts";
import type { Branch } from "./flatten-schema.ts";
import type { RuleTable } from "./rule-table.ts";
import { expressing } from "./schema-failure.ts";
import type { Located } from "./schema-node.ts";
import { quoted } from "./text-rules.ts";

/** What containers need of the rules of values. */
export type ContainerContext = {
  readonly table: RuleTable;
  readonly reading: "as-meant" | "as-written";
  valueOf(schemas: readonly Located[]): Expression;
};

type Field = { readonly written: Expression; readonly isRequired: boolean };

/** An object with its fields in declared order, optional ones left out at will, and further ones behind them. */
export function writeObject(branch: Branch, parts: ContainerContext): Expression {
  const names = new Set([
    ...branch.flatMap(({ object }) => [...object.properties.keys()]),
    ...branch.flatMap(({ object }) => object.required),
  ]);
  const fields = [...names].map((name): Field => {
    const schemas = branch.flatMap(({ object }) => object.properties.get(name) ?? object.additional ?? []);
    const written = member(text(JSON.stringify(name)), parts.valueOf(schemas));
    return { written, isRequired: branch.some(({ object }) => object.required.includes(name)) };
  });
  const further = writeFurther(branch, names, parts);
  const place = branch[0]?.place ?? "#";
  const content = chainFields(fields, further, (expression) => parts.table.add(place, expression));
  return sequence(text("{"), space, content, text("}"));
}

/** A field that is not declared; its name is none of the declared ones, or the value of that one would be replaced. */
function writeFurther(branch: Branch, names: ReadonlySet<string>, parts: ContainerContext): Expression {
  const schemas = branch.flatMap(({ object }) => object.additional ?? []);
  const declares = branch.some(({ object }) => object.properties.size > 0);
  const isClosed = schemas.length === 0 && declares && parts.reading === "as-meant";
  if (isClosed || schemas.some(({ schema }) => schema === false)) return never;
  const place = branch[0]?.place ?? "#";
  const key =
    names.size === 0
      ? jsonString
      : quoted(
          expressing("additionalProperties", place, () =>
            writeAutomaton(allBut([...names]), `${place}/key`, parts.table),
          ),
        );
  return parts.table.add(`${place}/further`, member(key, parts.valueOf(schemas)));
}

/**
 * Two chains of rules, from the last field to the first: `after` when a field stands before and a comma is due,
 * `first` when none does. An optional field may be stepped over in both.
 */
function chainFields(
  fields: readonly Field[],
  further: Expression,
  name: (expression: Expression) => Expression,
): Expression {
  const furtherAfter = repeat(sequence(text(","), space, further), 0, Number.POSITIVE_INFINITY);
  let after = name(sequence(furtherAfter, space));
  let first = name(optional(separated(further)));
  for (const { written, isRequired } of fields.toReversed()) {
    const begun = sequence(written, after);
    first = name(choice(begun, ...(isRequired ? [] : [first])));
    const continued = sequence(text(","), space, written, after);
    after = name(choice(continued, ...(isRequired ? [] : [after])));
  }
  return fields.length === 0 && further === never ? nothing : first;
}
