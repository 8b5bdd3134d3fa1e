import { TemplateError } from "./template-error.ts";
import { makeUndefined, type Run, type Value } from "./values.ts";
import { asText } from "./write-value.ts";

/** A method or filter of a kind of value: `self` is what stands before the dot or the bar. */
export type Method = (self: Value, call: Call) => Value;
export type Call = { readonly values: readonly Value[]; readonly run: Run };
export type MethodTable = Readonly<Record<string, Method>>;

/** The argument with this name, else the one in this place, counted from 0 after `self`. */
export function argument({ values }: Call, name: string, place: number): Value {
  for (const value of values) if (value.kind === "keyword" && value.name === name) return value.value;
  const found = values[place];
  return found === undefined || found.kind === "keyword" ? makeUndefined() : found;
}

export function textAt({ values }: Call, place: number): string {
  const found = values[place];
  if (found?.kind === "string") return found.text;
  throw new TemplateError(`a text was expected as argument ${place + 1}, not "${found?.kind ?? "nothing"}"`);
}

export function integerOr(value: Value | undefined, otherwise: number): number {
  if (value === undefined || value.kind === "undefined") return otherwise;
  if (value.kind === "integer" || value.kind === "float") return Math.trunc(value.number);
  if (value.kind === "boolean") return Number(value.is);
  throw new TemplateError(`an integer was expected, not "${value.kind}"`);
}

export function textOr(value: Value, otherwise: string): string {
  return value.kind === "undefined" ? otherwise : asText(value);
}

export type Cut = { readonly start: number; readonly stop: number; readonly step: number };

/** The places that Python's `[start:stop:step]` takes. */
export function sliceIndices(length: number, { start, stop, step }: Cut): number[] {
  const places: number[] = [];
  if (step > 0) {
    const last = stop < 0 ? Math.max(length + stop, 0) : Math.min(stop, length);
    const first = start < 0 ? Math.max(length + start, 0) : Math.min(start, length);
    for (let place = first; place < last; place += step) places.push(place);
  } else if (step < 0) {
    const last = stop < -1 ? Math.max(length + stop, -1) : Math.min(stop, length - 1);
    const first = start < 0 ? Math.max(length + start, 0) : Math.min(start, length - 1);
    for (let place = first; place > last; place += step) places.push(place);
  } else {
    throw new TemplateError("a slice cannot have the step 0");
  }
  return places;
}

export function readCut({ values }: Call, length: number): Cut {
  const [start, stop, step] = values;
  return { start: integerOr(start, 0), stop: integerOr(stop, length), step: integerOr(step, 1) };
}
