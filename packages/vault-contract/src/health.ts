import { Type } from "typebox";

/** What probes are answered with. */
export const alive = Type.Object({ status: Type.Literal("alive") });

export const ready = Type.Object({ status: Type.Literal("ready") });

export const notReady = Type.Object({
  status: Type.Literal("not ready"),
  reason: Type.String({ maxLength: 256 }),
});
