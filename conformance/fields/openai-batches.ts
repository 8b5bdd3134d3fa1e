import type { FieldTable } from "./field-table.ts";

/** The endpoints of files and batches. */
export const batchFields: FieldTable["served"] = {
  "POST /v1/files": {
    supported: ["file", "purpose", "expires_after", "expires_after.anchor", "expires_after.seconds"],
  },
  "GET /v1/files": { supported: ["after", "limit", "order", "purpose"] },
  "GET /v1/files/:id": { supported: [] },
  "GET /v1/files/:id/content": { supported: [] },
  "DELETE /v1/files/:id": { supported: [] },
  "POST /v1/batches": {
    supported: [
      "input_file_id",
      "endpoint",
      "completion_window",
      "metadata",
      "output_expires_after",
      "output_expires_after.anchor",
      "output_expires_after.seconds",
    ],
  },
  "GET /v1/batches": { supported: ["after", "limit"] },
  "GET /v1/batches/:id": { supported: [] },
  "POST /v1/batches/:id/cancel": { supported: [] },
};
