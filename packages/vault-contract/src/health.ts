import { Type } from "typebox";

/** Responses of the health endpoints. */
export const alive = Type.Object(
  { status: Type.Literal("alive", { description: "Always `alive`" }) },
  { title: "Alive", description: "The process runs" },
);

export const ready = Type.Object(
  { status: Type.Literal("ready", { description: "Always `ready`" }) },
  { title: "Ready", description: "This node serves requests" },
);

export const notReady = Type.Object(
  {
    status: Type.Literal("not ready", { description: "Always `not ready`" }),
    reason: Type.String({ maxLength: 256, description: "Why this node does not serve requests" }),
  },
  { title: "NotReady", description: "This node does not serve requests at the moment" },
);
