import { Type } from "typebox";

/** An entry of `self-tests.json`. */
export const cachedResultSchema = Type.Object({
  key: Type.String({ maxLength: 64 }),
  /** Milliseconds since the epoch. */
  at: Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  result: Type.Union([
    Type.Object({
      works: Type.Literal(true),
      tokensPerSecond: Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      gpuDevice: Type.Optional(Type.String({ maxLength: 1024 })),
    }),
    Type.Object({ works: Type.Literal(false), reason: Type.String({ maxLength: 1024 }) }),
  ]),
});
