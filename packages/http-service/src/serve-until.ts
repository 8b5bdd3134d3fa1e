import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Place } from "./listening.ts";
import type { HttpService } from "./service.ts";

const graceSeconds = 30;

export type ServeUntilParts = {
  /** Called once the port is open, before the first request is answered. */
  readonly onListening: (url: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
  /** How long requests are still taken after that, so that a balancer sees that the server is ending. */
  readonly drainSeconds?: number;
  /** Ends what running requests work with; called when no new ones are taken any more. */
  readonly onClosing?: (graceSeconds: number) => Promise<void>;
};

/** Listens, waits until it is asked to end, and lets running requests finish. */
export async function serveUntil(service: HttpService, place: Place, parts: ServeUntilParts): Promise<void> {
  const { url } = await service.listen(place);
  parts.onListening(url);
  if (!parts.signal.aborted) await once(parts.signal, "abort");
  if (parts.drainSeconds !== undefined) await sleep(parts.drainSeconds * 1000);
  // Requests that are cut off by the end of what they work with still get their last words out.
  await Promise.all([service.close(graceSeconds + 5), parts.onClosing?.(graceSeconds)]);
}
