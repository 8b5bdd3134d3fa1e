import type { Embeddings } from "@hearth-and-keep/engine";
import { createLoadRequest, type Lease, type LoadInput } from "../scheduling/load-request.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type EmbedRequest = LoadInput & {
  readonly texts: readonly string[];
  /** Whether to truncate a text that exceeds the context; otherwise it is rejected. */
  readonly truncates: boolean;
};

export type EmbedResult = Embeddings & Pick<Lease, "loadMilliseconds" | "queueMilliseconds">;

/** Embeds texts. The vectors are the model's own and not normalized. */
export async function embed(
  scheduler: Scheduler,
  request: EmbedRequest,
  signal: AbortSignal,
): Promise<EmbedResult> {
  using lease = await scheduler.acquire(createLoadRequest(request, "embed"), signal);
  const { loadMilliseconds, queueMilliseconds } = lease;
  const { texts, truncates } = request;
  return { ...(await lease.engine.embed({ texts, truncates }, signal)), loadMilliseconds, queueMilliseconds };
}
