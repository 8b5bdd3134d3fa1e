import { Type } from "typebox";

/** Responses of the health endpoints. */
export const alive = Type.Object({ status: Type.Literal("alive") });

export const ready = Type.Object({ status: Type.Literal("ready") });

export const notReady = Type.Object({
  status: Type.Literal("not ready"),
  reason: Type.String({ maxLength: 256 }),
});
