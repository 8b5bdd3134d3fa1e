import type { EngineEvent } from "@hearth-and-keep/engine";

const quietMilliseconds = 15;

export type EventOutbox = {
  post(event: EngineEvent): void;
  /** Sends what is left; nothing may be posted after it. */
  close(): void;
};

/**
 * Gathers events so that messages cost less than decoding: the first one after a quiet moment leaves as soon as the
 * next token is under way, what follows within a few milliseconds leaves together, and neighbouring texts become one.
 */
export function openOutbox(send: (events: readonly EngineEvent[]) => void): EventOutbox {
  let waiting: EngineEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isFlushDue = false;
  let lastSentAt = 0;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    isFlushDue = false;
    if (waiting.length === 0) return;
    const events = waiting;
    waiting = [];
    lastSentAt = performance.now();
    send(events);
  };
  return {
    post(event) {
      waiting = append(waiting, event);
      const wait = lastSentAt + quietMilliseconds - performance.now();
      if (wait > 0) timer ??= setTimeout(flush, wait);
      else if (!isFlushDue) {
        isFlushDue = true;
        // After the loop has turned, the next token is being computed beside it, and sending costs no time.
        setImmediate(flush);
      }
    },
    close: flush,
  };
}

function append(waiting: EngineEvent[], event: EngineEvent): EngineEvent[] {
  const last = waiting.at(-1);
  if (event.type !== "text-delta" || last?.type !== "text-delta") return [...waiting, event];
  const tokens = [...(last.tokens ?? []), ...(event.tokens ?? [])];
  const joined = {
    ...last,
    ...event,
    text: last.text + event.text,
    ...(tokens.length > 0 ? { tokens } : {}),
  };
  return [...waiting.slice(0, -1), joined];
}
