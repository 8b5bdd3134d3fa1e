import { setTimeout as sleep } from "node:timers/promises";

export type RepeatOptions = {
  /** Pause between two runs. */
  readonly milliseconds: number;
  readonly run: () => Promise<void>;
  readonly onError: (error: unknown) => void;
};

/** Repeats background work until the signal aborts; a run that fails is reported and repeated like any other. */
export async function repeatUntil(
  signal: AbortSignal,
  { milliseconds, run, onError }: RepeatOptions,
): Promise<void> {
  while (!signal.aborted) {
    await run().catch(onError);
    await sleepUnlessAborted(signal, milliseconds);
  }
}

/** Resolves early when the signal aborts, and never rejects. */
export function sleepUnlessAborted(signal: AbortSignal, milliseconds: number): Promise<void> {
  return sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
}
