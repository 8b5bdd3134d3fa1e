/**
 * @module
 * From a JSON Schema to rules of a grammar, in three steps: `read-schema` turns keywords into typed nodes and refuses
 * what cannot be kept, `flatten-schema` resolves references and combinations into plain alternatives, and
 * `value-rules` writes rules for each alternative. Every node is known by its place, so recursion ends.
 * Imported by `schema-grammar.ts` and `tool-call-grammar.ts` above.
 */
import type { JsonValue } from "@hearth-and-keep/engine";

/** A schema somewhere in the document, not yet read. */
export type Located = { readonly schema: unknown; readonly place: string };

export type TypeName = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object";

/** One schema object, read. Absent means unlimited, except for combinations, which are then empty. */
export type SchemaNode = {
  readonly place: string;
  readonly types?: ReadonlySet<TypeName>;
  /** The types its other keywords speak of; a type is guessed from them when none is given. */
  readonly impliedTypes: ReadonlySet<TypeName>;
  /** From `enum` and `const`; a value must be in each list. */
  readonly valueLists: readonly (readonly JsonValue[])[];
  /** All of these hold as well: `$ref` and `allOf`. */
  readonly also: readonly Located[];
  /** Of each list at least one holds: `anyOf` and `oneOf`. */
  readonly alternatives: readonly Alternatives[];
  readonly text: TextLimits;
  readonly number: NumberLimits;
  readonly object: ObjectLimits;
  readonly array: ArrayLimits;
};

export type Alternatives = { readonly keyword: "anyOf" | "oneOf"; readonly options: readonly Located[] };

export type TextLimits = {
  readonly least: number;
  readonly most: number;
  readonly pattern?: string;
  readonly format?: string;
};

export type NumberLimits = {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
};

export type ObjectLimits = {
  readonly properties: ReadonlyMap<string, Located>;
  readonly required: readonly string[];
  readonly additional?: Located;
};

export type ArrayLimits = {
  readonly prefix: readonly Located[];
  readonly items?: Located;
  readonly least: number;
  readonly most: number;
};
