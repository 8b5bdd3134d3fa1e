import { Type } from "typebox";
import { id, moment } from "./shared-fields.ts";

/** Work that goes on after its request was answered. */
export const operation = Type.Object({
  id,
  kind: Type.Enum(["rotate-data-key"]),
  vault_id: id,
  state: Type.Enum(["running", "done", "failed"]),
  done_items: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  created_at: moment,
  updated_at: moment,
});

export const begunOperation = Type.Object({ operation });
