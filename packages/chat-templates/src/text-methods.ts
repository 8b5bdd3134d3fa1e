import { strip, toLower, toUpper } from "./byte-text.ts";
import {
  argument,
  type Call,
  integerOr,
  type MethodTable,
  readSlice,
  sliceIndices,
  stringAt,
  stringOr,
} from "./call-arguments.ts";
import { toJson } from "./json-filter.ts";
import { TemplateError } from "./template-error.ts";
import { isTrue, makeBoolean, makeFloat, makeInteger, makeList, makeText, type Value } from "./values.ts";
import { asText } from "./write-value.ts";

/** The methods and filters of strings. */
export const textMethods: MethodTable = {
  upper: (self) => makeText(toUpper(asText(self))),
  lower: (self) => makeText(toLower(asText(self))),
  capitalize: (self) => makeText(toUpper(asText(self).slice(0, 1)) + toLower(asText(self).slice(1))),
  title: (self) => makeText(toLower(asText(self)).replaceAll(/(?<![^\s])[a-z]/g, toUpper)),
  strip: (self, call) => stripped(self, call, { start: true, end: true }),
  lstrip: (self, call) => stripped(self, call, { start: true, end: false }),
  rstrip: (self, call) => stripped(self, call, { start: false, end: true }),
  length: (self) => makeInteger(asText(self).length),
  startswith: (self, call) => makeBoolean(asText(self).startsWith(stringAt(call, 0))),
  endswith: (self, call) => makeBoolean(asText(self).endsWith(stringAt(call, 0))),
  split: (self, call) => split(asText(self), call, "start"),
  rsplit: (self, call) => split(asText(self), call, "end"),
  replace: (self, call) => replace(asText(self), call),
  format: (self, call) => format(asText(self), call),
  int: (self, call) => readInteger(asText(self), call),
  float: (self, call) => readFloat(asText(self), call),
  string: (self) => self,
  safe: (self) => self,
  default: (self, call) =>
    isTrue(argument(call, "boolean", 1)) && !isTrue(self) ? (call.values[0] ?? makeText("")) : self,
  slice: (self, call) => {
    const text = asText(self);
    return makeText(
      sliceIndices(text.length, readSlice(call, text.length))
        .map((index) => text.charAt(index))
        .join(""),
    );
  },
  indent: (self, call) => indent(asText(self), call),
  tojson: toJson,
};

type Ends = { readonly start: boolean; readonly end: boolean };

function stripped(self: Value, call: Call, ends: Ends): Value {
  const characters = argument(call, "chars", 0);
  return makeText(
    strip(asText(self), characters.kind === "undefined" ? ends : { ...ends, characters: asText(characters) }),
  );
}

function split(text: string, call: Call, from: "start" | "end"): Value {
  const separator = call.values[0] === undefined ? " " : asText(call.values[0]);
  if (separator === "") throw new TemplateError("split requires a non-empty separator");
  const maxCount = integerOr(call.values[1], -1);
  const segments = text.split(separator);
  call.run.budget.spendItems(segments.length);
  const surplus = maxCount < 0 ? 0 : Math.max(0, segments.length - 1 - maxCount);
  const joinedFrom = from === "start" ? segments.length - 1 - surplus : 0;
  if (surplus > 0)
    segments.splice(
      joinedFrom,
      surplus + 1,
      segments.slice(joinedFrom, joinedFrom + surplus + 1).join(separator),
    );
  return makeList(segments.map(makeText));
}

function replace(text: string, call: Call): Value {
  const [from, to] = [stringAt(call, 0), stringAt(call, 1)];
  const maxCount = integerOr(argument(call, "count", 2), -1);
  const segments = from === "" ? ["", ...text.split(""), ""] : text.split(from);
  call.run.budget.spendItems(segments.length);
  const changes = maxCount > 0 ? Math.min(maxCount, segments.length - 1) : segments.length - 1;
  call.run.budget.spendText(text.length + changes * to.length);
  const kept = segments.slice(changes).join(from);
  return makeText([...segments.slice(0, changes), kept].join(to));
}

function format(text: string, call: Call): Value {
  let next = 0;
  const filled = text.replaceAll(/\{(?<inside>[^}]?)(?<end>\}?)/gu, (found) => {
    const value = call.values[next];
    if (found !== "{}" || value === undefined)
      throw new TemplateError(`unsupported placeholder "${found}" in a format string`);
    next += 1;
    return asText(value);
  });
  call.run.budget.spendText(filled.length);
  return makeText(filled);
}

function readInteger(text: string, call: Call): Value {
  const digits = /^\s*(?<number>[+-]?\d+)/u.exec(text)?.groups?.["number"];
  const base = integerOr(argument(call, "base", 1), 10);
  const number = base === 10 ? Number(digits ?? Number.NaN) : Number.parseInt(text, base);
  return makeInteger(Number.isNaN(number) ? integerOr(argument(call, "default", 0), 0) : number);
}

function readFloat(text: string, call: Call): Value {
  const number = Number.parseFloat(text);
  return makeFloat(Number.isNaN(number) ? integerOr(argument(call, "default", 0), 0) : number);
}

function indent(text: string, call: Call): Value {
  const width = argument(call, "width", 0);
  if (width.kind === "integer") call.run.budget.spendText(width.number);
  const space = width.kind === "integer" ? " ".repeat(Math.max(0, width.number)) : stringOr(width, "    ");
  const [isFirst, isBlank] = [isTrue(argument(call, "first", 1)), isTrue(argument(call, "blank", 2))];
  const lines = text.split("\n");
  call.run.budget.spendText(text.length + lines.length * space.length);
  const indented = lines.map((line, index) => {
    const isIndented = index === 0 ? isFirst && text !== "" : line !== "" || isBlank;
    return isIndented ? space + line : line;
  });
  return makeText(indented.join("\n"));
}
