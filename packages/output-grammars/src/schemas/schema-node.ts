/**
 * @module
 * Converts a JSON Schema to grammar rules in three steps: `read-schema` parses keywords into typed nodes and rejects
 * unsupported ones, `flatten-schema` resolves references and combinations into plain alternatives, and `value-rules`
 * creates rules for each alternative. Nodes are identified by their JSON pointer, so that recursion terminates.
 * Imported by `schema-grammar.ts` and `tool-call-grammar.ts` above.
 */
import type { JsonValue } from "@hearth-and-keep/engine";

/** A subschema that has not been read yet, with its JSON pointer. */
export type LocatedSchema = { readonly schema: unknown; readonly pointer: string };

export type TypeName = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object";

/** A parsed schema object. An absent limit means unlimited; absent combinations are empty. */
export type SchemaNode = {
  readonly pointer: string;
  readonly types?: ReadonlySet<TypeName>;
  /** The types implied by its other keywords, used if `type` is absent. */
  readonly impliedTypes: ReadonlySet<TypeName>;
  /** From `enum` and `const`; a value must be in each list. */
  readonly valueLists: readonly (readonly JsonValue[])[];
  /** Schemas that must hold too: `$ref` and `allOf`. */
  readonly also: readonly LocatedSchema[];
  /** Lists of which at least one schema must hold: `anyOf` and `oneOf`. */
  readonly alternatives: readonly Alternatives[];
  readonly text: TextLimits;
  readonly number: NumberLimits;
  readonly object: ObjectLimits;
  readonly array: ArrayLimits;
};

export type Alternatives = {
  readonly keyword: "anyOf" | "oneOf";
  readonly options: readonly LocatedSchema[];
};

export type TextLimits = {
  readonly min: number;
  readonly max: number;
  readonly pattern?: string;
  readonly format?: string;
};

export type NumberLimits = {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
};

export type ObjectLimits = {
  readonly properties: ReadonlyMap<string, LocatedSchema>;
  readonly required: readonly string[];
  readonly additional?: LocatedSchema;
};

export type ArrayLimits = {
  readonly prefix: readonly LocatedSchema[];
  readonly items?: LocatedSchema;
  readonly min: number;
  readonly max: number;
};
