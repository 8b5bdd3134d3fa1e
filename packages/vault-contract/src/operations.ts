import { Type } from "typebox";
import { described } from "./described.ts";
import { count, id, timestamp } from "./shared-fields.ts";

/** A long-running operation that continues after its request has completed. */
export const operation = Type.Object(
  {
    id: described(id, "Identifies the operation"),
    kind: Type.Enum(["rotate-data-key"], { description: "What the operation does" }),
    vault_id: described(id, "The vault that it works on"),
    state: Type.Enum(["running", "done", "failed"], { description: "How far it is" }),
    done_items: described(count, "Items that it has processed"),
    created_at: described(timestamp, "When it was started"),
    updated_at: described(timestamp, "When it last made progress"),
  },
  { title: "Operation", description: "A long-running operation, which continues after its request" },
);

export const startedOperation = Type.Object(
  { operation },
  { title: "StartedOperation", description: "The operation that the request has started" },
);
