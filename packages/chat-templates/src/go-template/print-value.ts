import { type GoMap, type GoRecord, type GoValue, sortedEntries } from "./values.ts";

/** The output of an action. */
export function printValue(value: GoValue): string {
  return value.kind === "nil" ? "<no value>" : formatValue(value);
}

/** Go's `%v`. */
export function formatValue(value: GoValue): string {
  switch (value.kind) {
    case "nil":
      return "<nil>";
    case "string":
      return value.text;
    case "integer":
    case "boolean":
      return String(value.value);
    case "float":
      return printFloat(value.value);
    case "list":
      if (value.printsAsJson === true) return writeJson(value);
      return `[${value.items.map(formatValue).join(" ")}]`;
    case "map":
      if (value.printsAsJson === true) return writeJson(value);
      return `map[${sortedEntries(value)
        .map(([key, inner]) => `${key}:${formatValue(inner)}`)
        .join(" ")}]`;
    case "record":
      if (value.printsAsJson === true) return writeJson(value);
      return `{${[...value.fields.values()].map(formatValue).join(" ")}}`;
  }
}

/** Go uses an exponent below 0.0001 and from a million up. */
function printFloat(value: number): string {
  if (Object.is(value, -0)) return "-0";
  const [digits = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (value === 0 || (exponent >= -4 && exponent < 6)) return String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Like Go's encoder: map keys are sorted, HTML characters are escaped. */
export function writeJson(value: GoValue): string {
  switch (value.kind) {
    case "nil":
      return "null";
    case "string":
      return writeJsonText(value.text);
    case "integer":
    case "float":
    case "boolean":
      return JSON.stringify(value.value);
    case "list":
      return `[${value.items.map(writeJson).join(",")}]`;
    case "map":
    case "record":
      return `{${namedValues(value)
        .map(([name, inner]) => `${writeJsonText(name)}:${writeJson(inner)}`)
        .join(",")}}`;
  }
}

function namedValues(value: GoMap | GoRecord): readonly (readonly [string, GoValue])[] {
  return value.kind === "map" ? sortedEntries(value) : (value.jsonFields ?? [...value.fields]);
}

function writeJsonText(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll(/[<>&\u2028\u2029\u007F]/gu, (character) =>
    character === "\u007F"
      ? character
      : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

const shortEscapes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
};

/** Go's `%q`. */
export function quoteText(text: string): string {
  const inner = text.replaceAll(/["\\]|[\p{C}\p{Z}]/gu, (character) => {
    if (character === " ") return character;
    const point = character.codePointAt(0) ?? 0;
    const short = Object.hasOwn(shortEscapes, character) ? shortEscapes[character] : undefined;
    if (short !== undefined) return short;
    if (point < 0x80) return `\\x${hex(point, 2)}`;
    return point < 0x1_0000 ? `\\u${hex(point, 4)}` : `\\U${hex(point, 8)}`;
  });
  return `"${inner}"`;
}

function hex(point: number, width: number): string {
  return point.toString(16).padStart(width, "0");
}
