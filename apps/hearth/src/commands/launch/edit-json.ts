import type { JsonValue } from "@hearth-and-keep/hearth-contract";
import { type Node, type ParseError, parseTree } from "jsonc-parser";

/** The file is not one object of JSON, with or without comments and trailing commas. */
export class JsonSyntaxError extends Error {}

type Property = {
  readonly key: string;
  readonly start: number;
  readonly value: Node;
  readonly valueStart: number;
  readonly valueEnd: number;
};

type ObjectSpan = { readonly open: number; readonly close: number; readonly properties: readonly Property[] };

/** The text of a value; undefined when there is none. */
export function readJsonText(text: string, keys: readonly string[]): string | undefined {
  const { property, rest } = descend(text, keys);
  if (property === undefined || rest.length > 0) return undefined;
  return text.slice(property.valueStart, property.valueEnd);
}

/** Sets a value and changes nothing else: comments, order and indentation stay. Missing objects are created. */
export function setJsonValue(text: string, keys: readonly string[], value: JsonValue): string {
  const { parent, property, rest } = descend(text, keys);
  const indentation = indentationOf(text);
  const missing = rest.slice(property === undefined ? 1 : 0);
  // Objects of keys that do not exist yet, from the innermost.
  const nested = missing.toReversed().reduce((inner: JsonValue, key) => ({ [key]: inner }), value);
  if (property !== undefined) {
    const written = format(nested, lineIndentation(text, property.start), indentation);
    return text.slice(0, property.valueStart) + written + text.slice(property.valueEnd);
  }
  const outer = lineIndentation(text, parent.open);
  const inner = childIndentation(text, parent) ?? outer + indentation.unit;
  const written = `${JSON.stringify(rest[0] ?? "")}: ${format(nested, inner, indentation)}`;
  const last = parent.properties.at(-1);
  if (last !== undefined) {
    return `${text.slice(0, last.valueEnd)},${indentation.newline}${inner}${written}${text.slice(last.valueEnd)}`;
  }
  const after = text.slice(parent.open + 1);
  const closing = /^\s*\n/u.test(after.slice(0, parent.close - parent.open))
    ? ""
    : indentation.newline + outer;
  return `${text.slice(0, parent.open + 1)}${indentation.newline}${inner}${written}${closing}${after}`;
}

/** Puts back the text of a value as `readJsonText` returned it. */
export function restoreJsonText(text: string, keys: readonly string[], value: string): string {
  const { property, rest } = descend(text, keys);
  if (property === undefined || rest.length > 0) return text;
  return text.slice(0, property.valueStart) + value + text.slice(property.valueEnd);
}

/** Removes a property with its comma and the white space before it. */
export function removeJsonProperty(text: string, keys: readonly string[]): string {
  const { parent, property, rest } = descend(text, keys);
  if (property === undefined || rest.length > 0) return text;
  const previous = parent.properties[parent.properties.indexOf(property) - 1];
  const comma = commaAfter(text, property) ?? (previous && commaAfter(text, previous));
  let start = property.start;
  while (/\s/u.test(text[start - 1] ?? "")) start -= 1;
  const cuts = [
    [start, property.valueEnd] as const,
    ...(comma === undefined ? [] : [[comma, comma + 1] as const]),
  ];
  // From the end, so that the earlier offsets stay valid.
  return cuts
    .toSorted(([one], [other]) => other - one)
    .reduce((result, [from, to]) => result.slice(0, from) + result.slice(to), text);
}

/** Whether the value is an object without properties and comments. */
export function isEmptyObject(text: string): boolean {
  return /^\{\s*\}$/u.test(text);
}

type Descent = {
  /** The innermost object that exists. */
  readonly parent: ObjectSpan;
  /** Its property of the first key that is left, or of the last key. */
  readonly property: Property | undefined;
  /** The keys from that property on; empty when the whole path exists. */
  readonly rest: readonly string[];
};

function descend(text: string, keys: readonly string[]): Descent {
  let parent = readRoot(text);
  for (const [index, key] of keys.entries()) {
    // As in every parser, the last of several equal keys counts.
    const property = parent.properties.findLast((each) => each.key === key);
    if (property === undefined) return { parent, property, rest: keys.slice(index) };
    if (index === keys.length - 1) return { parent, property, rest: [] };
    if (property.value.type !== "object") return { parent, property, rest: keys.slice(index + 1) };
    parent = toSpan(property.value);
  }
  return { parent, property: undefined, rest: [] };
}

function readRoot(text: string): ObjectSpan {
  const errors: ParseError[] = [];
  const root = parse(text, errors);
  if (root?.type !== "object" || errors.length > 0) throw new JsonSyntaxError();
  return toSpan(root);
}

function parse(text: string, errors: ParseError[]): Node | undefined {
  try {
    // A byte order mark, which the parser does not know, counts as a space.
    return parseTree(text.replace(/^\uFEFF/u, " "), errors, { allowTrailingComma: true });
  } catch (error) {
    // The parser is recursive; no settings are nested this deeply.
    if (error instanceof RangeError) throw new JsonSyntaxError();
    throw error;
  }
}

function toSpan({ offset, length, children = [] }: Node): ObjectSpan {
  const properties = children.flatMap(({ offset: start, children: [key, value] = [] }): Property[] =>
    key === undefined || value === undefined
      ? []
      : [
          {
            key: String(key.value),
            start,
            value,
            valueStart: value.offset,
            valueEnd: value.offset + value.length,
          },
        ],
  );
  return { open: offset, close: offset + length - 1, properties };
}

/** White space and comments, up to a comma. */
const beforeComma = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*(?=,)/uy;

function commaAfter(text: string, { valueEnd }: Property): number | undefined {
  beforeComma.lastIndex = valueEnd;
  return beforeComma.test(text) ? beforeComma.lastIndex : undefined;
}

type Indentation = { readonly unit: string; readonly newline: string };

/** That of the file's first property, else two spaces. */
function indentationOf(text: string): Indentation {
  return {
    unit: childIndentation(text, readRoot(text)) ?? "  ",
    newline: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

/** White space before the first property, if that is on a line of its own. */
function childIndentation(text: string, { properties: [first] }: ObjectSpan): string | undefined {
  return first === undefined ? undefined : /\n([ \t]+)$/u.exec(text.slice(0, first.start))?.[1];
}

function lineIndentation(text: string, index: number): string {
  const start = text.lastIndexOf("\n", index - 1) + 1;
  return /^[ \t]*/u.exec(text.slice(start, index))?.[0] ?? "";
}

function format(value: JsonValue, outer: string, { unit, newline }: Indentation): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", newline + outer);
}
