/** The value types of the format, by number; `bytes` is the size of one value, or its minimum size. */
export const valueKinds = [
  { name: "uint8", bytes: 1 },
  { name: "int8", bytes: 1 },
  { name: "uint16", bytes: 2 },
  { name: "int16", bytes: 2 },
  { name: "uint32", bytes: 4 },
  { name: "int32", bytes: 4 },
  { name: "float32", bytes: 4 },
  { name: "bool", bytes: 1 },
  { name: "string", bytes: 8 },
  { name: "array", bytes: 12 },
  { name: "uint64", bytes: 8 },
  { name: "int64", bytes: 8 },
  { name: "float64", bytes: 8 },
] as const;

export type ValueKind = (typeof valueKinds)[number];
export type NumberKind = Exclude<ValueKind["name"], "bool" | "string" | "array">;

/** 64-bit integers are bigint, so that none is rounded; all other numbers are `number`. */
export type MetadataValue = {
  readonly type: ValueKind["name"];
  readonly value: number | bigint | boolean | string | MetadataList;
};

export type MetadataList =
  | {
      readonly kind: "numbers";
      readonly type: NumberKind;
      readonly length: number;
      readonly values: NumberList;
    }
  | { readonly kind: "booleans"; readonly length: number; readonly values: Uint8Array }
  | StringList
  | { readonly kind: "lists"; readonly length: number; readonly values: readonly MetadataList[] };

export type NumberList =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

/** Strings are decoded from the header's bytes on access, so a large vocabulary costs little. */
export type StringList = Iterable<string> & {
  readonly kind: "strings";
  readonly length: number;
  readonly maxStringBytes: number;
  at(index: number): string | undefined;
  has(text: string): boolean;
  /** Each string with one character per byte, so that two strings are equal exactly if their bytes are. */
  binaryStrings(): Iterable<string>;
};
