import { TemplateError } from "./template-error.ts";
import { makeUndefined, type Run, type Value } from "./values.ts";
import { asText } from "./write-value.ts";

/** A method or filter of a value type; `self` is the value before the dot or the pipe. */
export type Method = (self: Value, call: Call) => Value;
export type Call = { readonly values: readonly Value[]; readonly run: Run };
export type MethodTable = Readonly<Record<string, Method>>;

/** The keyword argument with this name, or else the positional argument at this index, counted from 0 after `self`. */
export function argument({ values }: Call, name: string, index: number): Value {
  for (const value of values) if (value.kind === "keyword" && value.name === name) return value.value;
  const found = values[index];
  return found === undefined || found.kind === "keyword" ? makeUndefined() : found;
}

export function stringAt({ values }: Call, index: number): string {
  const found = values[index];
  if (found?.kind === "string") return found.text;
  throw new TemplateError(`argument ${index + 1} must be a string, not "${found?.kind ?? "undefined"}"`);
}

export function integerOr(value: Value | undefined, fallback: number): number {
  if (value === undefined || value.kind === "undefined") return fallback;
  if (value.kind === "integer" || value.kind === "float") return Math.trunc(value.number);
  if (value.kind === "boolean") return Number(value.is);
  throw new TemplateError(`expected an integer, not "${value.kind}"`);
}

export function stringOr(value: Value, fallback: string): string {
  return value.kind === "undefined" ? fallback : asText(value);
}

export type Slice = { readonly start: number; readonly stop: number; readonly step: number };

/** The indices that Python's `[start:stop:step]` selects. */
export function sliceIndices(length: number, { start, stop, step }: Slice): number[] {
  const indices: number[] = [];
  if (step > 0) {
    const last = stop < 0 ? Math.max(length + stop, 0) : Math.min(stop, length);
    const first = start < 0 ? Math.max(length + start, 0) : Math.min(start, length);
    for (let index = first; index < last; index += step) indices.push(index);
  } else if (step < 0) {
    const last = stop < -1 ? Math.max(length + stop, -1) : Math.min(stop, length - 1);
    const first = start < 0 ? Math.max(length + start, 0) : Math.min(start, length - 1);
    for (let index = first; index > last; index += step) indices.push(index);
  } else {
    throw new TemplateError("slice step must not be 0");
  }
  return indices;
}

export function readSlice({ values }: Call, length: number): Slice {
  const [start, stop, step] = values;
  return { start: integerOr(start, 0), stop: integerOr(stop, length), step: integerOr(step, 1) };
}
