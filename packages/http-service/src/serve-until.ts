import { once } from "node:events";
import type { HttpService, Place } from "./service.ts";

const graceSeconds = 30;

export type ServeUntilParts = {
  /** Called once the port is open, before the first request is answered. */
  readonly onListening: (url: string) => void;
  /** Fires when the server is asked to end. */
  readonly signal: AbortSignal;
};

/** Listens, waits until it is asked to end, and lets running requests finish. */
export async function serveUntil(service: HttpService, place: Place, parts: ServeUntilParts): Promise<void> {
  const { url } = await service.listen(place);
  parts.onListening(url);
  if (!parts.signal.aborted) await once(parts.signal, "abort");
  await service.close(graceSeconds);
}
