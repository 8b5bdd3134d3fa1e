import { randomUUID } from "node:crypto";
import type { Outcome } from "../../../batches/batch.ts";
import type { BatchStatus, OpenAIBatch } from "./openai-batch.ts";

/** The fields with the time at which a batch reached a status. */
const timeFields: Readonly<Partial<Record<BatchStatus, string>>> = {
  in_progress: "in_progress_at",
  finalizing: "finalizing_at",
  completed: "completed_at",
  failed: "failed_at",
  expired: "expired_at",
  cancelling: "cancelling_at",
  cancelled: "cancelled_at",
};

/** A batch in OpenAI's format; fields without a value are left out. */
export function writeBatch(batch: OpenAIBatch) {
  const { id, body, createdAt, expiresAt, status, counts, error } = batch;
  const { outputFileId, errorFileId } = batch.files;
  // The keys are those of the table above.
  const times = (Object.keys(timeFields) as BatchStatus[]).flatMap((reached) => {
    const date = batch.reachedAt(reached);
    return date === undefined ? [] : [[timeFields[reached], toSeconds(date)] as const];
  });
  return {
    id,
    object: "batch",
    endpoint: body.endpoint,
    ...(error === undefined ? {} : { errors: { object: "list", data: [error] } }),
    input_file_id: body.input_file_id,
    completion_window: body.completion_window,
    status,
    ...(outputFileId === undefined ? {} : { output_file_id: outputFileId }),
    ...(errorFileId === undefined ? {} : { error_file_id: errorFileId }),
    created_at: toSeconds(createdAt),
    expires_at: toSeconds(expiresAt),
    ...Object.fromEntries(times),
    request_counts: counts,
    metadata: body.metadata ?? null,
  };
}

function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

const unanswered = {
  canceled: { code: "batch_cancelled", message: "The batch was cancelled before this request finished" },
  expired: { code: "batch_expired", message: "The batch expired before this request finished" },
} as const;

/** One line of an output or error file. The body is what the endpoint would have answered. */
export function formatLine(customId: string | null, outcome: Outcome): string {
  const head = `{"id":"batch_req_${randomUUID().replaceAll("-", "")}","custom_id":${JSON.stringify(customId)}`;
  if (typeof outcome === "string")
    return `${head},"response":null,"error":${JSON.stringify(unanswered[outcome])}}`;
  const { status, requestId, body, ignored } = outcome;
  const named = ignored === undefined ? "" : `,"hearth_ignored":${JSON.stringify(ignored)}`;
  return `${head},"response":{"status_code":${status},"request_id":"${requestId}","body":${body}},"error":null${named}}`;
}
