import type { Embeddings } from "@hearth-and-keep/engine";
import { createLoadRequest, type Lease, type LoadInput } from "../scheduling/load-request.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

export type EmbedRequest = LoadInput & {
  readonly texts: readonly string[];
  /** Whether to truncate a text that exceeds the context; otherwise it is rejected. */
  readonly truncates: boolean;
};

export type EmbedResult = Embeddings &
  Pick<Lease, "loadMilliseconds" | "queueMilliseconds"> & {
    /** The driver that ran the model. */
    readonly engine: string;
    /** Of the remote engine that responded. */
    readonly engineAddress?: string;
  };

/** Embeds texts. The vectors are the model's own and not normalized. */
export async function embed(
  scheduler: Scheduler,
  request: EmbedRequest,
  signal: AbortSignal,
): Promise<EmbedResult> {
  using lease = await scheduler.acquire(createLoadRequest(request, "embed"), signal);
  const { loadMilliseconds, queueMilliseconds, window } = lease;
  const { texts, truncates } = request;
  let engineAddress: string | undefined;
  const onAddress = (address: string): void => void (engineAddress = address);
  const embedRequest = { texts, truncates, contextTokens: window.tokens };
  const embedded = await lease.engine.embed(
    request.model.remote === undefined ? embedRequest : { ...embedRequest, onAddress },
    signal,
  );
  lease.addTokens(embedded.tokens, 0);
  const engine = lease.engine.describe().driver;
  return {
    ...embedded,
    loadMilliseconds,
    queueMilliseconds,
    engine,
    ...(engineAddress === undefined ? {} : { engineAddress }),
  };
}
