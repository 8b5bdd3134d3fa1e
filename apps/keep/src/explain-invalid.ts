import type { TSchema } from "typebox";
import { Check } from "typebox/value";
import type { FieldError } from "./failures.ts";
import { isObject } from "./is-object.ts";

/** The keywords that the contract's schemas use. */
type Shape = {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly minProperties?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Completes "must be …" where the keywords do not say it to people. */
  readonly "x-expected"?: string;
};

const maxNameCharacters = 64;

/**
 * What is wrong with a value, in words of the API instead of its validator's: the field, what is allowed in it, and never
 * the value itself.
 */
export function explainInvalid(schema: TSchema, value: unknown): readonly FieldError[] {
  return explain(schema, value, []);
}

type Path = readonly (string | number)[];

function explain(shape: Shape, value: unknown, path: Path): readonly FieldError[] {
  if (Check(shape, value)) return [];
  if (shape.anyOf !== undefined) return explainUnion(shape, value, path);
  if (shape.type === "object" && isObject(value)) return explainObject(shape, value, path);
  if (shape.type === "array" && Array.isArray(value)) return explainList(shape, value, path);
  return [errorAt(path, `must be ${expected(shape)}`)];
}

/** Explains the variant that the value is meant to be: of its type, or with its constant. */
function explainUnion({ anyOf = [], ...shape }: Shape, value: unknown, path: Path): readonly FieldError[] {
  const variants = anyOf.filter(({ type }) => type === typeOf(value));
  const [first, ...others] = variants;
  if (first !== undefined && others.length === 0) return explain(first, value, path);
  const tag = tagOf(variants);
  if (tag === undefined || !isObject(value))
    return [errorAt(path, `must be ${expected({ anyOf, ...shape })}`)];
  const variant = variants.find(({ properties }) => properties?.[tag]?.const === value[tag]);
  if (variant !== undefined) return explain(variant, value, path);
  const tags = variants.map(({ properties }) => properties?.[tag]?.const);
  return [errorAt([...path, tag], `must be ${expected({ enum: tags })}`)];
}

/** The property whose constant tells the variants apart. */
function tagOf([first, ...others]: readonly Shape[]): string | undefined {
  const isConstant = (name: string) => (shape: Shape) => shape.properties?.[name]?.const !== undefined;
  return Object.keys(first?.properties ?? {}).find((name) =>
    [first ?? {}, ...others].every(isConstant(name)),
  );
}

function explainObject(
  { properties = {}, required = [], additionalProperties, minProperties = 0 }: Shape,
  value: Readonly<Record<string, unknown>>,
  path: Path,
): readonly FieldError[] {
  const known = Object.keys(properties);
  const unknown =
    additionalProperties === false
      ? Object.keys(value).filter((name) => !Object.hasOwn(properties, name))
      : [];
  const errors = [
    ...unknown.map((name) =>
      errorAt(
        [...path, name],
        `unknown field "${name.slice(0, maxNameCharacters)}"; the known ones are ${known.join(", ")}`,
      ),
    ),
    ...required
      .filter((name) => !Object.hasOwn(value, name))
      .map((name) => errorAt([...path, name], "is required")),
    ...Object.entries(properties).flatMap(([name, property]) =>
      Object.hasOwn(value, name) ? explain(property, value[name], [...path, name]) : [],
    ),
  ];
  if (errors.length > 0 || Object.keys(value).length >= minProperties) return errors;
  return [errorAt(path, `must have at least one of ${known.join(", ")}`)];
}

function explainList({ items = {}, minItems, maxItems }: Shape, value: readonly unknown[], path: Path) {
  const errors = value.flatMap((item, index) => explain(items, item, [...path, index]));
  if (errors.length > 0) return errors;
  const isLong = value.length >= (minItems ?? 0) && value.length <= (maxItems ?? Number.MAX_SAFE_INTEGER);
  return [
    errorAt(
      path,
      isLong ? "must not contain an item twice" : `must have${formatRange(minItems, maxItems)} items`,
    ),
  ];
}

/** Completes "must be …". */
function expected(shape: Shape): string {
  if (shape["x-expected"] !== undefined) return shape["x-expected"];
  if (shape.anyOf !== undefined) return [...new Set(shape.anyOf.map(expected))].join(" or ");
  if (shape.enum !== undefined)
    return `${shape.enum.length === 1 ? "" : "one of "}${shape.enum.map(String).join(", ")}`;
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  switch (shape.type) {
    case "string":
      return `text${formatLengths(shape)}`;
    case "integer":
      return `a whole number${formatRange(shape.minimum, shape.maximum, "from")}`;
    case "boolean":
      return "true or false";
    case "array":
      return "a list";
    case "object":
      return "an object";
    case undefined:
    default:
      return "null";
  }
}

function formatLengths({ minLength, maxLength }: Shape): string {
  const range = formatRange(minLength, maxLength, "of");
  return range === "" ? "" : `${range} characters`;
}

function formatRange(min = 0, max?: number, preposition = ""): string {
  if (max === undefined) return "";
  const start = preposition === "" ? "" : ` ${preposition}`;
  return max === Number.MAX_SAFE_INTEGER ? ` of ${min} or more` : `${start} ${min} to ${max}`;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function errorAt(path: Path, reason: string): FieldError {
  return { field: path.join("."), reason };
}
