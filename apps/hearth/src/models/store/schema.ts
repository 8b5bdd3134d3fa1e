import { type TSchema, Type } from "typebox";
import type { Digest } from "./digest.ts";

/** Go encodes absent fields as null, so null and absent mean the same. */
export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

export const shortText = Type.String({ maxLength: 1024 });

// The pattern guarantees what the branded type promises.
const digest = Type.Unsafe<Digest>(Type.String({ pattern: "^sha256:[0-9a-f]{64}$" }));

export const layerSchema = Type.Object({
  mediaType: orNull(shortText),
  digest,
  size: Type.Integer({ minimum: 0, maximum: 2 ** 50 }),
  from: orNull(shortText),
  name: orNull(shortText),
});

export const manifestSchema = Type.Object({
  schemaVersion: Type.Literal(2),
  config: orNull(layerSchema),
  layers: orNull(Type.Array(layerSchema, { maxItems: 8192 })),
});
