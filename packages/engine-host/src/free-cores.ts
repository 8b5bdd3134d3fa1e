import { cpus } from "node:os";

type Reading = { readonly at: number; readonly idle: number; readonly own: number };

/** A shorter span says more about the scheduler's ticks than about the machine. */
const shortestSpan = 80;
const readingsKept = 4;
/** Work that pauses for longer has ended; who used the cores meanwhile says nothing about now. */
const longestPause = 100;

/**
 * How many cores are idle or ours while we compute, as in 1.5. What we use ourselves counts as free, because it is
 * ours to use again.
 */
export class FreeCores {
  #readings: readonly Reading[] = [read()];
  #endedAt = performance.now();

  /** Called after each batch, so that only the time in which we computed is looked at. */
  noteBatch(milliseconds: number): void {
    const now = performance.now();
    const pause = now - milliseconds - this.#endedAt;
    this.#endedAt = now;
    const last = this.#readings.at(-1);
    if (pause > longestPause) this.#readings = [read()];
    else if (last === undefined || now - last.at >= shortestSpan) {
      this.#readings = [...this.#readings.slice(1 - readingsKept), read()];
    }
  }

  /** Undefined until there was enough time to tell. */
  count(): number | undefined {
    const now = read();
    const [since] = this.#readings;
    if (since === undefined || now.at - since.at < shortestSpan) return undefined;
    return (now.idle - since.idle + now.own - since.own) / (now.at - since.at);
  }
}

/** All in milliseconds. */
function read(): Reading {
  const { user, system } = process.cpuUsage();
  const idle = cpus().reduce((sum, { times }) => sum + times.idle, 0);
  return { at: performance.now(), idle, own: (user + system) / 1000 };
}
