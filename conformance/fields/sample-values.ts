import ts from "typescript";

/** Reads values out of types. */
export type TypeReader = {
  /** A value of the type with required fields only; undefined for types that have no value in JSON. */
  readonly sample: (type: ts.Type) => unknown;
  /** The fields of the objects that a value of the type is or contains; none for maps. */
  readonly fieldsOf: (type: ts.Type) => ReadonlyMap<string, ts.Type>;
  /** The types of a field of the objects that a value of the type is or contains. */
  readonly typesAt: (type: ts.Type, field: string) => readonly ts.Type[];
  /** A sample for each value of `type` of the objects that a value of the type is or contains. */
  readonly variants: (type: ts.Type) => ReadonlyMap<string, object>;
};

/** No request is nested deeper; some types contain themselves. */
const maxDepth = 8;

export function createTypeReader(checker: ts.TypeChecker): TypeReader {
  const elementOf = (type: ts.Type): ts.Type | undefined =>
    checker.isArrayType(type) || checker.isTupleType(type)
      ? // Both are references to generic types.
        checker.getTypeArguments(type as ts.TypeReference)[0]
      : undefined;
  const objectsIn = (type: ts.Type): readonly ts.Type[] => {
    const element = elementOf(type);
    if (element !== undefined) return objectsIn(element);
    return type.isUnion() ? type.types.flatMap(objectsIn) : isObject(type) ? [type] : [];
  };
  const sample = (type: ts.Type, depth = 0): unknown => {
    const primitive = samplePrimitive(type);
    if (primitive !== undefined || depth > maxDepth) return primitive;
    if (type.isUnion()) return sample(firstPresent(type.types), depth + 1);
    const element = elementOf(type);
    if (element !== undefined) return [sample(element, depth + 1)];
    if (!isObject(type)) return undefined;
    const required = checker
      .getPropertiesOfType(type)
      .filter(({ flags }) => (flags & ts.SymbolFlags.Optional) === 0);
    const fields = required.map(
      (property) => [property.name, sample(checker.getTypeOfSymbol(property), depth + 1)] as const,
    );
    return Object.fromEntries(fields);
  };
  const typesAt = (type: ts.Type, field: string): readonly ts.Type[] =>
    objectsIn(type).flatMap((each) => {
      const property = each.getProperty(field);
      return property === undefined ? [] : [checker.getTypeOfSymbol(property)];
    });
  return {
    sample: (type) => sample(type),
    typesAt,
    fieldsOf: (type) => {
      const properties = objectsIn(type).flatMap((each) => checker.getPropertiesOfType(each));
      return new Map(properties.map((property) => [property.name, checker.getTypeOfSymbol(property)]));
    },
    variants: (type) =>
      new Map(
        objectsIn(type).flatMap((each) =>
          typesAt(each, "type")
            .flatMap(literalsOf)
            .map((literal) => [literal, { ...Object(sample(each)), type: literal }] as const),
        ),
      ),
  };
}

function literalsOf(type: ts.Type): readonly string[] {
  if (type.isUnion()) return type.types.flatMap(literalsOf);
  return type.isStringLiteral() ? [type.value] : [];
}

/** Bytes are not an object in JSON. */
function isObject(type: ts.Type): boolean {
  const isObjectType = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0;
  return isObjectType && !isText(type) && type.symbol?.name !== "Uint8Array";
}

/** Clients write `string & {}` for any text beside known ones. */
function isText(type: ts.Type): boolean {
  return type.isIntersection() ? type.types.some(isText) : (type.flags & ts.TypeFlags.StringLike) !== 0;
}

function samplePrimitive(type: ts.Type): string | number | boolean | undefined {
  if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
  if (isText(type)) return "text";
  if ((type.flags & ts.TypeFlags.NumberLike) !== 0) return 1;
  return (type.flags & ts.TypeFlags.BooleanLike) === 0 ? undefined : true;
}

/** Null and undefined mean that a field is absent. */
function firstPresent(types: readonly ts.Type[]): ts.Type {
  const absent = ts.TypeFlags.Null | ts.TypeFlags.Undefined;
  const present = types.find(({ flags }) => (flags & absent) === 0);
  if (present === undefined) throw new Error("Cannot choose a type: all are null or undefined");
  return present;
}
