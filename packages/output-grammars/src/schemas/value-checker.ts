import type { JsonValue } from "@hearth-and-keep/engine";
import { matches } from "../automata/automaton.ts";
import { automatonOfPattern } from "../automata/pattern-automaton.ts";
import { canonicalText, isJsonObject, typesOfValue } from "./json-values.ts";
import type { SchemaDocument } from "./schema-document.ts";
import { type Enforcement, express } from "./schema-failure.ts";
import type { LocatedSchema, SchemaNode } from "./schema-node.ts";
import { patternOfFormat } from "./text-formats.ts";

/**
 * Checks the values of `enum` and `const` against the other keywords. Formats are not checked, as the schema lists the
 * values explicitly.
 */
export class ValueChecker {
  readonly #document: SchemaDocument;

  constructor(document: SchemaDocument) {
    this.#document = document;
  }

  acceptsNode(value: JsonValue, node: SchemaNode): boolean {
    const { types, valueLists, also, alternatives } = node;
    return (
      (types === undefined || typesOfValue(value).some((type) => types.has(type))) &&
      valueLists.every((list) => list.some((listed) => canonicalText(listed) === canonicalText(value))) &&
      also.every((schema) => this.#accepts(value, schema)) &&
      alternatives.every(({ keyword, options }) => {
        const matching = options.filter((option) => this.#accepts(value, option)).length;
        const isEnough = keyword === "anyOf" || this.#document.enforcement === "lenient";
        return isEnough ? matching > 0 : matching === 1;
      }) &&
      this.#acceptsContent(value, node)
    );
  }

  #accepts(value: JsonValue, schema: LocatedSchema): boolean {
    const node = this.#document.read(schema);
    return typeof node === "boolean" ? node : this.acceptsNode(value, node);
  }

  #acceptsContent(value: JsonValue, node: SchemaNode): boolean {
    if (typeof value === "string") return acceptsText(value, node, this.#document.enforcement);
    if (typeof value === "number") return acceptsNumber(value, node);
    if (Array.isArray(value)) return this.#acceptsList(value, node);
    return !isJsonObject(value) || this.#acceptsFields(value, node);
  }

  #acceptsList(items: readonly JsonValue[], { array }: SchemaNode): boolean {
    const hasValidLength = items.length >= array.min && items.length <= array.max;
    return (
      hasValidLength &&
      items.every((item, index) => {
        const schema = array.prefix[index] ?? array.items;
        return schema === undefined || this.#accepts(item, schema);
      })
    );
  }

  #acceptsFields(fields: Readonly<Record<string, JsonValue>>, { object }: SchemaNode): boolean {
    return (
      object.required.every((name) => Object.hasOwn(fields, name)) &&
      Object.entries(fields).every(([name, field]) => {
        const schema = object.properties.get(name) ?? object.additional;
        return schema === undefined || this.#accepts(field, schema);
      })
    );
  }
}

function acceptsText(value: string, { text, pointer }: SchemaNode, enforcement: Enforcement): boolean {
  const length = Array.from(value).length;
  const { pattern, format = "" } = text;
  if (length < text.min || length > text.max) return false;
  if (pattern === undefined) return true;
  const mode = patternOfFormat(format) === undefined ? enforcement : "lenient";
  return (
    express(mode, { keyword: "pattern", pointer }, () => matches(automatonOfPattern(pattern), value)) ?? true
  );
}

function acceptsNumber(value: number, { number }: SchemaNode): boolean {
  return (
    value >= (number.minimum ?? Number.NEGATIVE_INFINITY) &&
    value <= (number.maximum ?? Number.POSITIVE_INFINITY) &&
    value > (number.exclusiveMinimum ?? Number.NEGATIVE_INFINITY) &&
    value < (number.exclusiveMaximum ?? Number.POSITIVE_INFINITY) &&
    (number.multipleOf === undefined || isMultiple(value, number.multipleOf))
  );
}

/** Dividing by a decimal fraction is inexact. */
function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
}
