import type { EngineFailure } from "@hearth-and-keep/engine";
import { startRunningClock } from "@hearth-and-keep/engine-host";
import type { FromWorker, ToWorker } from "../channel/messages.ts";

/** A worker that sends nothing for this long counts as hung and is killed. */
const maxSilenceSeconds = 10;
/** So does a worker that samples a single token for this long. */
const maxSamplingSeconds = 10;
/** One heartbeat proves nothing: the worker may have been stopped while it sampled. */
const maxSlowHeartbeats = 2;
const checkIntervalMilliseconds = 500;

export type WorkerWatch = {
  sent(message: ToWorker): void;
  received(message: FromWorker): void;
  stop(): void;
};

/**
 * Detects a worker that hangs while its process is alive. A valid grammar can be so ambiguous that parsing it blocks the
 * event loop, or that sampling a token, which runs on a native thread, never finishes. Neither counts against the model.
 */
export function watchWorker(onHung: (failure: EngineFailure) => void): WorkerWatch {
  const constrained = new Set<number>();
  let lastMessageAt = 0;
  let slowHeartbeats = 0;
  const clock = startRunningClock(checkIntervalMilliseconds, () => {
    if (clock.now() - lastMessageAt <= maxSilenceSeconds * 1000) return;
    onHung({ kind: constrained.size > 0 ? "grammar-too-slow" : "engine-hung", seconds: maxSilenceSeconds });
  });
  return {
    sent(message) {
      if (message.type === "generate" && message.request.constraint !== undefined)
        constrained.add(message.id);
    },
    received(message) {
      lastMessageAt = clock.now();
      if (message.type === "heartbeat") {
        slowHeartbeats = message.samplingSeconds > maxSamplingSeconds ? slowHeartbeats + 1 : 0;
        if (slowHeartbeats >= maxSlowHeartbeats)
          onHung({ kind: "grammar-too-slow", seconds: maxSamplingSeconds });
      } else if ("id" in message && message.type !== "events") constrained.delete(message.id);
    },
    stop: () => clock.stop(),
  };
}

/** A load without progress for this long is aborted. */
export const loadStallSeconds = 120;

export function watchLoadProgress(onStall: () => void): { progressed(): void; stop(): void } {
  let timer = setTimeout(onStall, loadStallSeconds * 1000);
  return {
    progressed() {
      clearTimeout(timer);
      timer = setTimeout(onStall, loadStallSeconds * 1000);
    },
    stop: () => clearTimeout(timer),
  };
}
