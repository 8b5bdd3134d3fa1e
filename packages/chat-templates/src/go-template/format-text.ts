import { TemplateError } from "../template-error.ts";
import { formatValue, quoteText } from "./print-value.ts";
import { describeKind, type GoValue } from "./values.ts";

const verb = /%(?<flags>[-0+ ]*)(?<width>\d*)(?:\.(?<precision>\d*))?(?<letter>[a-zA-Z%])/gu;
const maxWidth = 1000;

/** Go's Sprintf, for the verbs that templates use: `%s %q %v %d %t %f %g %x %%`. */
export function sprintf(format: string, values: readonly GoValue[]): string {
  const remaining = [...values];
  let text = "";
  let position = 0;
  for (const found of format.matchAll(verb)) {
    text += format.slice(position, found.index);
    text += found.groups?.["letter"] === "%" ? "%" : writeVerb(found, remaining.shift());
    position = found.index + found[0].length;
  }
  if (remaining.length > 0) throw new TemplateError("printf: too many arguments");
  return text + format.slice(position);
}

function writeVerb({ 0: placeholder, groups = {} }: RegExpExecArray, value: GoValue | undefined): string {
  const { flags = "", width = "", precision, letter = "" } = groups;
  if (value === undefined)
    throw new TemplateError(`printf: missing argument for ${JSON.stringify(placeholder)}`);
  const formatted = formatVerb(value, letter, precision === undefined ? undefined : Number(precision));
  const minWidth = Number(width);
  if (minWidth > maxWidth) throw new TemplateError(`printf: the width ${width} is too large`);
  if (flags.includes("-")) return formatted.padEnd(minWidth);
  return formatted.padStart(minWidth, flags.includes("0") && letter !== "s" ? "0" : " ");
}

function formatVerb(value: GoValue, letter: string, precision: number | undefined): string {
  if (letter === "v") return formatValue(value);
  if (letter === "t" && value.kind === "boolean") return String(value.value);
  if (letter === "d" && value.kind === "integer") return String(value.value);
  if (letter === "x" && value.kind === "integer") return value.value.toString(16);
  if (letter === "f" && value.kind === "float") return value.value.toFixed(Math.min(precision ?? 6, 100));
  if (letter === "g" && value.kind === "float" && precision === undefined) return formatValue(value);
  const isText = value.kind === "string" || ("printsAsJson" in value && value.printsAsJson);
  if (isText && (letter === "s" || letter === "q")) {
    const fullText = formatValue(value);
    const text = precision === undefined ? fullText : Array.from(fullText).slice(0, precision).join("");
    return letter === "s" ? text : quoteText(text);
  }
  throw new TemplateError(`printf: "%${letter}" does not support "${describeKind(value)}"`);
}
