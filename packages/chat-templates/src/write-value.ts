import { TemplateError } from "./template-error.ts";
import type { Entry, Value } from "./values.ts";

export type JsonStyle = {
  /** Spaces per level; if absent, everything is on one line. */
  readonly indent?: number;
  readonly itemSeparator: string;
  readonly keySeparator: string;
};

export const oneLine: JsonStyle = { itemSeparator: ", ", keySeparator: ": " };

/** Python's json.dumps, with numbers as C++ streams print them. */
export function writeJson(value: Value, style: JsonStyle, level = 0): string {
  switch (value.kind) {
    case "boolean":
      return value.is ? "true" : "false";
    case "integer":
      return String(value.number);
    case "float":
      return formatShort(value.number);
    case "string":
      return quote(value.text);
    case "list":
      return bracket(
        "[]",
        value.items.map((item) => writeJson(item, style, level + 1)),
        { style, level },
      );
    case "object": {
      const written = [...value.entries.values()].map(
        (entry) =>
          `${quote(asText(entry.key))}${style.keySeparator}${writeJson(entry.value, style, level + 1)}`,
      );
      return bracket("{}", written, { style, level });
    }
    case "undefined":
    case "none":
    case "function":
    case "keyword":
      return "null";
  }
}

function bracket(
  brackets: "[]" | "{}",
  items: readonly string[],
  { style, level }: { readonly style: JsonStyle; readonly level: number },
): string {
  const { indent, itemSeparator } = style;
  if (items.length === 0) return brackets;
  if (indent === undefined) return `${brackets.charAt(0)}${items.join(itemSeparator)}${brackets.charAt(1)}`;
  const outer = " ".repeat(level * indent);
  const lines = items.map((item) => `${outer}${" ".repeat(indent)}${item}`);
  return `${brackets.charAt(0)}\n${lines.join(`${itemSeparator}\n`)}\n${outer}${brackets.charAt(1)}`;
}

/** JSON.stringify would also escape lone surrogates, which byte text never contains. */
function quote(text: string): string {
  return JSON.stringify(text);
}

/** `%g` with six digits, so that 0.1 + 0.2 is 0.3. */
function formatShort(number: number): string {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
  if (number === 0) return "0";
  const [digits = "", exponent = "0"] = number.toExponential(5).split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return dropZeros(number.toFixed(5 - power));
  const sign = power < 0 ? "-" : "+";
  return `${dropZeros(digits)}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

function dropZeros(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/u, "") : digits;
}

/** Converts a value to a string, as concatenation does. */
export function asText(value: Value): string {
  switch (value.kind) {
    case "string":
      return value.text;
    case "integer":
      return String(value.number);
    case "float":
      return value.number.toFixed(6).replace(/0+$/u, "").replace(/\.$/u, ".0");
    case "boolean":
      return value.is ? "True" : "False";
    case "none":
      return "None";
    case "list": {
      const items = value.items.map(represent).join(", ");
      if (!value.isTuple) return `[${items}]`;
      return value.items.length === 1 ? `(${items},)` : `(${items})`;
    }
    case "object":
      return `{${[...value.entries.values()].map(representEntry).join(", ")}}`;
    case "undefined":
    case "function":
    case "keyword":
      throw new TemplateError(`type "${value.kind}" cannot be converted to a string`);
  }
}

function representEntry({ key, value }: Entry): string {
  return `${represent(key)}: ${represent(value)}`;
}

function represent(value: Value): string {
  if (value.kind === "undefined") return "Undefined";
  if (value.kind !== "string") return asText(value);
  return value.text.includes("'") ? quote(value.text) : `'${value.text}'`;
}

/** A value as `{{ … }}` prints it: none, undefined and objects print nothing, lists print their items. */
export function print(value: Value): string {
  switch (value.kind) {
    case "string":
    case "integer":
    case "float":
    case "boolean":
      return asText(value);
    case "list":
      return value.items.map(print).join("");
    case "undefined":
    case "none":
    case "object":
    case "function":
    case "keyword":
      return "";
  }
}
