import type { EngineFailure } from "@hearth-and-keep/engine";
import type { FromWorker, ToWorker } from "../worker/messages.ts";

/** A worker whose event loop has not turned for this long is taken for hung and killed. */
const silenceSeconds = 10;
/** So is one that has been choosing one token for this long. */
const choiceSeconds = 10;
const lookEveryMilliseconds = 500;

export type Watch = {
  asked(message: ToWorker): void;
  heard(message: FromWorker): void;
  stop(): void;
};

/**
 * Finds out a worker that has stopped working though its process lives. A valid grammar can be so ambiguous that
 * reading it stops the event loop, or that choosing a token, which native code does beside the loop, takes for ever.
 * The model is not to blame for either.
 */
export function watchWorker(onHung: (failure: EngineFailure) => void): Watch {
  const constrained = new Set<number>();
  let heardAt = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - heardAt <= silenceSeconds * 1000) return;
    onHung({ kind: constrained.size > 0 ? "grammar-too-slow" : "engine-hung", seconds: silenceSeconds });
  }, lookEveryMilliseconds);
  timer.unref();
  return {
    asked(message) {
      if (message.type === "generate" && message.request.constraint !== undefined)
        constrained.add(message.id);
    },
    heard(message) {
      heardAt = performance.now();
      if (message.type === "heartbeat" && message.choosingSeconds > choiceSeconds) {
        onHung({ kind: "grammar-too-slow", seconds: choiceSeconds });
      } else if ("id" in message && message.type !== "events") constrained.delete(message.id);
    },
    stop: () => clearInterval(timer),
  };
}

/** A load that shows no progress for this long is given up. */
export const loadStallSeconds = 120;

export function watchStall(onStall: () => void): { moved(): void; stop(): void } {
  let timer = setTimeout(onStall, loadStallSeconds * 1000);
  return {
    moved() {
      clearTimeout(timer);
      timer = setTimeout(onStall, loadStallSeconds * 1000);
    },
    stop: () => clearTimeout(timer),
  };
}
