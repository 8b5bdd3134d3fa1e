import type { Embeddings } from "@hearth-and-keep/engine";
import type { Lease } from "../scheduling/load-request.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";
import { type WishParts, wishFor } from "./load-request.ts";

export type EmbedRequest = WishParts & {
  readonly texts: readonly string[];
  /** Whether a text over the context is cut at its end; otherwise it is refused. */
  readonly truncates: boolean;
};

export type Embedded = Embeddings & Pick<Lease, "loadMilliseconds" | "queueMilliseconds">;

/** Vectors of texts, as the model gives them: whether they have a length of one is the model's business. */
export async function embed(
  scheduler: Scheduler,
  request: EmbedRequest,
  signal: AbortSignal,
): Promise<Embedded> {
  using lease = await scheduler.lend(wishFor(request, "embed"), signal);
  const { loadMilliseconds, queueMilliseconds } = lease;
  const { texts, truncates } = request;
  return { ...(await lease.engine.embed({ texts, truncates }, signal)), loadMilliseconds, queueMilliseconds };
}
