import { CanonicalFormError, canonicalJson, type Json } from "./canonical-json.ts";

export type Members = Readonly<Record<string, unknown>>;
export type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

/** An object in canonical JSON with exactly the members of the shape for its `type`; undefined if it is not. */
export function readShapedLine(text: string, shapes: ReadonlyMap<string, Shape>): Members | undefined {
  const value = parse(text);
  if (!isMembers(value)) return undefined;
  const shape = typeof value["type"] === "string" ? shapes.get(value["type"]) : undefined;
  return shape !== undefined && fits(value, { type: isString, ...shape }) ? value : undefined;
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse returns JSON values only.
    return canonicalJson(value as Json) === text ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof CanonicalFormError) return undefined;
    throw error;
  }
}

function fits(value: Members, shape: Shape): boolean {
  const names = Object.keys(shape);
  return (
    Object.keys(value).length === names.length &&
    names.every((name) => Object.hasOwn(value, name) && shape[name]?.(value[name]) === true)
  );
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const isString = (value: unknown): value is string => typeof value === "string";
export const matches =
  (pattern: RegExp) =>
  (value: unknown): boolean =>
    isString(value) && pattern.test(value);
export const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
export const isId = matches(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
export const isHash = matches(/^[0-9a-f]{64}$/u);
/** The one encoding of its bytes: without surplus bits before the padding, which decoders ignore. */
export const isBase64 = matches(
  /^(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/u,
);
export const orNull =
  (isValid: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || isValid(value);
export const areKeys = (value: unknown): boolean => Array.isArray(value) && value.every(isKey);
const isKey = (value: unknown): boolean =>
  isMembers(value) && fits(value, { version: isCount, public_key: isBase64 });
