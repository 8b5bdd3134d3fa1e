import { Type } from "typebox";
import { id, timestamp } from "./shared-fields.ts";

/** A long-running operation that continues after its request has completed. */
export const operation = Type.Object({
  id,
  kind: Type.Enum(["rotate-data-key"]),
  vault_id: id,
  state: Type.Enum(["running", "done", "failed"]),
  done_items: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  created_at: timestamp,
  updated_at: timestamp,
});

export const startedOperation = Type.Object({ operation });
