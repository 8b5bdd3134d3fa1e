import { cpus } from "node:os";

type Reading = { readonly at: number; readonly idle: number; readonly own: number };

/** Over a shorter span the kernel's scheduler ticks distort the reading. */
const minSpanMilliseconds = 80;
const maxReadings = 4;
/** After a longer pause the work has stopped, and older readings no longer describe the current load. */
const maxPauseMilliseconds = 100;

/**
 * Measures how many cores this process can use, e.g. 1.5: those that are idle plus those it already occupies.
 */
export class FreeCores {
  #readings: readonly Reading[] = [read()];
  #lastBatchAt = performance.now();

  /** Called after each batch, so that only time spent computing is measured. */
  recordBatch(milliseconds: number): void {
    const now = performance.now();
    const pause = now - milliseconds - this.#lastBatchAt;
    this.#lastBatchAt = now;
    const last = this.#readings.at(-1);
    if (pause > maxPauseMilliseconds) this.#readings = [read()];
    else if (last === undefined || now - last.at >= minSpanMilliseconds) {
      this.#readings = [...this.#readings.slice(1 - maxReadings), read()];
    }
  }

  /** Undefined until the readings cover enough time. */
  count(): number | undefined {
    const now = read();
    const [since] = this.#readings;
    if (since === undefined || now.at - since.at < minSpanMilliseconds) return undefined;
    return (now.idle - since.idle + now.own - since.own) / (now.at - since.at);
  }
}

/** All in milliseconds. */
function read(): Reading {
  const { user, system } = process.cpuUsage();
  const idle = cpus().reduce((sum, { times }) => sum + times.idle, 0);
  return { at: performance.now(), idle, own: (user + system) / 1000 };
}
