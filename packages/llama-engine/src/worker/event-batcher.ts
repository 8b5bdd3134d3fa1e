import type { EngineEvent } from "@hearth-and-keep/engine";

const batchMilliseconds = 15;

export type EventBatcher = {
  push(event: EngineEvent): void;
  /** Sends the remaining events. No event may be pushed afterwards. */
  close(): void;
};

/**
 * Batches events, so that IPC costs less than decoding. The first event after a pause is sent as soon as the next token
 * is being computed; later ones are sent together every few milliseconds, with consecutive text deltas merged.
 */
export function createEventBatcher(send: (events: readonly EngineEvent[]) => void): EventBatcher {
  let pending: EngineEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isFlushDue = false;
  let lastSentAt = 0;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    isFlushDue = false;
    if (pending.length === 0) return;
    const events = pending;
    pending = [];
    // The first token follows the progress of a short prompt within milliseconds, and must not wait because of it.
    if (events.some(({ type }) => type !== "prompt-progress")) lastSentAt = performance.now();
    send(events);
  };
  return {
    push(event) {
      pending = append(pending, event);
      const wait = lastSentAt + batchMilliseconds - performance.now();
      if (wait > 0) timer ??= setTimeout(flush, wait);
      else if (!isFlushDue) {
        isFlushDue = true;
        // In the next turn of the event loop a native thread computes the next token, so sending delays nothing.
        setImmediate(flush);
      }
    },
    close: flush,
  };
}

function append(pending: EngineEvent[], event: EngineEvent): EngineEvent[] {
  const last = pending.at(-1);
  if (event.type !== "text-delta" || last?.type !== "text-delta") return [...pending, event];
  const tokens = [...(last.tokens ?? []), ...(event.tokens ?? [])];
  const merged = {
    ...last,
    ...event,
    text: last.text + event.text,
    ...(tokens.length > 0 ? { tokens } : {}),
  };
  return [...pending.slice(0, -1), merged];
}
