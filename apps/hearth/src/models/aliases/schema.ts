import { Type } from "typebox";

export const maxAliases = 256;
export const maxAliasFileBytes: number = 1024 * 1024;

const modelName = Type.String({ minLength: 1, maxLength: 1024 });

/** The file of aliases. */
export const aliasesSchema = Type.Array(
  Type.Object({
    name: modelName,
    model: modelName,
    /** Used when the model is missing. */
    fallback: Type.Optional(modelName),
    parameters: Type.Record(
      Type.String({ maxLength: 64 }),
      // alias-store.ts checks each parameter before it is stored.
      Type.Unknown(),
      { maxProperties: 64 },
    ),
  }),
  { maxItems: maxAliases },
);
