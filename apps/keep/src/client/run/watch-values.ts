import { setTimeout as sleep } from "node:timers/promises";
import { ClientError, isClientFailure } from "../client-failure.ts";
import type { RunValues } from "./read-run-values.ts";

export type WatchOptions = {
  readonly intervalSeconds: number;
  /** The values, unless they are those of the entity tag. */
  readonly readChanged: (knownTag: string | undefined) => Promise<RunValues | undefined>;
  readonly signal: AbortSignal;
  readonly onTrouble: (trouble: "away" | "refused") => void;
};

const maxSeconds = 300;
/** So that many machines that were started together do not ask together. */
const jitter = 0.2;

/** Values each time they have changed. Asks less often while the server is away, and no longer once it refuses. */
export async function* watchValues(
  first: RunValues,
  { intervalSeconds, readChanged, signal, onTrouble }: WatchOptions,
): AsyncGenerator<RunValues, undefined> {
  let known = first;
  let failures = 0;
  while (await hasWaited(pauseAfter(failures, intervalSeconds), signal)) {
    try {
      const changed = await readChanged(known.tag);
      failures = 0;
      if (changed === undefined) continue;
      const isSame = contentOf(changed) === contentOf(known);
      known = changed;
      if (!isSame) yield changed;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof ClientError)) throw error;
      if (isRefusal(error)) {
        onTrouble("refused");
        return undefined;
      }
      failures += 1;
      if (failures === 1) onTrouble("away");
    }
  }
  return undefined;
}

/** Doubles with each failure. */
export function pauseAfter(failures: number, intervalSeconds: number): number {
  return Math.min(intervalSeconds * 2 ** failures, Math.max(intervalSeconds, maxSeconds));
}

/** False when the watch has ended. */
async function hasWaited(seconds: number, signal: AbortSignal): Promise<boolean> {
  const factor = 1 - jitter + 2 * jitter * Math.random();
  try {
    await sleep(seconds * 1000 * factor, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

/** A tag may change without the values, e.g. after a write elsewhere in the vault. */
function contentOf({ values }: RunValues): string {
  return JSON.stringify(values.items.map(({ name, value, encoding }) => [name, value, encoding]));
}

function isRefusal(error: unknown): boolean {
  return isClientFailure(error, "problem") && [401, 403, 404].includes(error.failure.problem.status);
}
