import type { auditEventTypes } from "@hearth-and-keep/vault-contract";
import { expectTypeOf, test } from "vitest";
import type { AuditEvent } from "./events.ts";

test("the types that clients can ask for are those of the recorded events", () => {
  expectTypeOf<AuditEvent["type"]>().toEqualTypeOf<(typeof auditEventTypes)[number]>();
});
