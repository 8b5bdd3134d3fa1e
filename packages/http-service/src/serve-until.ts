import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { ListenAddress } from "./listen.ts";
import type { HttpService } from "./service.ts";

const graceSeconds = 30;

export type ServeUntilOptions = {
  /** Called once the port is open. */
  readonly onListening: (url: string) => void;
  /** Aborts when the server must stop. */
  readonly signal: AbortSignal;
  /** How long requests are still accepted after that, so that load balancers see the failing readiness check. */
  readonly drainSeconds?: number;
  /** Stops what running requests depend on; called when no new requests are accepted. */
  readonly onClosing?: (graceSeconds: number) => Promise<void>;
};

/** Listens until the signal aborts, then lets running requests finish. */
export async function serveUntil(
  service: HttpService,
  address: ListenAddress,
  options: ServeUntilOptions,
): Promise<void> {
  const { url } = await service.listen(address);
  options.onListening(url);
  if (!options.signal.aborted) await once(options.signal, "abort");
  if (options.drainSeconds !== undefined) await sleep(options.drainSeconds * 1000);
  // Five seconds longer, so that requests cut off by onClosing can still send their error.
  await Promise.all([service.close(graceSeconds + 5), options.onClosing?.(graceSeconds)]);
}
