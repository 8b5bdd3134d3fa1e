import type { AuditLog } from "./audit-log.ts";
import type { AuditEvent } from "./events.ts";

/** Wraps the log to report how many values each durable record covers. */
export function countReads(audit: AuditLog, onRead: (values: number) => void): AuditLog {
  return {
    ...audit,
    async recordRead(accountId, entry) {
      await audit.recordRead(accountId, entry);
      const values = valuesIn(entry.event);
      if (values > 0) onRead(values);
    },
  };
}

function valuesIn(event: AuditEvent): number {
  if (event.type === "value-read") return 1;
  return event.type === "values-read" || event.type === "values-exported" ? event.secrets.length : 0;
}
