import type { Batch, BatchResult, Outcome } from "../../../batches/batch.ts";

/** A batch in Anthropic's format. Requests count as processing until the whole batch has ended. */
export function writeBatch(batch: Batch) {
  const { id, createdAt, expiresAt, canceledAt, endedAt } = batch;
  const hasEnded = endedAt !== undefined;
  const count = (type: BatchResult["type"]): number => (hasEnded ? batch.count(type) : 0);
  return {
    id,
    type: "message_batch",
    processing_status: hasEnded ? "ended" : canceledAt === undefined ? "in_progress" : "canceling",
    request_counts: {
      processing: hasEnded ? 0 : batch.requestCount,
      succeeded: count("succeeded"),
      errored: count("errored"),
      canceled: count("canceled"),
      expired: count("expired"),
    },
    ended_at: endedAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
    archived_at: null,
    cancel_initiated_at: canceledAt?.toISOString() ?? null,
    // Without a host: official clients add their base URL, and a proxy may have another address than this server.
    results_url: hasEnded ? `/v1/messages/batches/${id}/results` : null,
  } as const;
}

/** One line of the results. The message, or the error, is what the endpoint would have answered. */
export function formatLine(customId: string | null, outcome: Outcome): string {
  const id = JSON.stringify(customId);
  if (typeof outcome === "string") return `{"custom_id":${id},"result":{"type":"${outcome}"}}`;
  const { status, body, ignored } = outcome;
  const result =
    status === 200 ? `{"type":"succeeded","message":${body}}` : `{"type":"errored","error":${body}}`;
  const named = ignored === undefined ? "" : `,"hearth_ignored":${JSON.stringify(ignored)}`;
  return `{"custom_id":${id},"result":${result}${named}}`;
}
