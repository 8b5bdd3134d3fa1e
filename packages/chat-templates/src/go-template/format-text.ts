import { TemplateError } from "../template-error.ts";
import { printInside, quoteText } from "./print-value.ts";
import { type GoValue, nameKind } from "./values.ts";

const verb = /%(?<flags>[-0+ ]*)(?<width>\d*)(?:\.(?<precision>\d*))?(?<letter>[a-zA-Z%])/gu;
const mostWidth = 1000;

/** Go's Sprintf, for the verbs that templates use: `%s %q %v %d %t %f %g %x %%`. */
export function formatText(form: string, values: readonly GoValue[]): string {
  const left = [...values];
  let text = "";
  let place = 0;
  for (const found of form.matchAll(verb)) {
    text += form.slice(place, found.index);
    text += found.groups?.["letter"] === "%" ? "%" : writeVerb(found, left.shift());
    place = found.index + found[0].length;
  }
  if (left.length > 0) throw new TemplateError('it gives "printf" more values than it uses');
  return text + form.slice(place);
}

function writeVerb({ 0: written, groups = {} }: RegExpExecArray, value: GoValue | undefined): string {
  const { flags = "", width = "", precision, letter = "" } = groups;
  if (value === undefined)
    throw new TemplateError(`it gives "printf" no value for ${JSON.stringify(written)}`);
  const plain = formatValue(value, letter, precision === undefined ? undefined : Number(precision));
  const places = Number(width);
  if (places > mostWidth) throw new TemplateError(`it asks "printf" for ${width} places`);
  if (flags.includes("-")) return plain.padEnd(places);
  return plain.padStart(places, flags.includes("0") && letter !== "s" ? "0" : " ");
}

function formatValue(value: GoValue, letter: string, precision: number | undefined): string {
  if (letter === "v") return printInside(value);
  if (letter === "t" && value.kind === "truth") return String(value.value);
  if (letter === "d" && value.kind === "whole") return String(value.value);
  if (letter === "x" && value.kind === "whole") return value.value.toString(16);
  if (letter === "f" && value.kind === "float") return value.value.toFixed(Math.min(precision ?? 6, 100));
  if (letter === "g" && value.kind === "float" && precision === undefined) return printInside(value);
  const isText = value.kind === "text" || ("printsAsJson" in value && value.printsAsJson);
  if (isText && (letter === "s" || letter === "q")) {
    const whole = printInside(value);
    const text = precision === undefined ? whole : Array.from(whole).slice(0, precision).join("");
    return letter === "s" ? text : quoteText(text);
  }
  throw new TemplateError(`it prints a ${nameKind(value)} by "%${letter}"`);
}
