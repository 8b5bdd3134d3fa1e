import { setTimeout as sleep } from "node:timers/promises";

export type Repeated = {
  readonly milliseconds: number;
  readonly turn: () => Promise<void>;
  readonly onProblem: (problem: unknown) => void;
};

/** Work in the background, again and again until the signal fires. A turn that fails is told and tried again. */
export async function repeatUntil(
  signal: AbortSignal,
  { milliseconds, turn, onProblem }: Repeated,
): Promise<void> {
  while (!signal.aborted) {
    await turn().catch(onProblem);
    await pauseUntil(signal, milliseconds);
  }
}

/** So long, or until the signal fires. */
export function pauseUntil(signal: AbortSignal, milliseconds: number): Promise<void> {
  return sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
}
