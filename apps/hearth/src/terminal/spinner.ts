import { formatDuration } from "./format-units.ts";
import { openLiveRegion } from "./live-region.ts";
import type { Screen } from "./screen.ts";
import { truncateToWidth } from "./text-width.ts";

const barColumns = 16;
const filledColumns = 5;
const drawIntervalMilliseconds = 120;
/** Short operations show no spinner. */
const delayMilliseconds = 250;

/** Shows an indeterminate progress bar with a label and the elapsed time until disposed. */
export function showSpinner(screen: Screen, label: string): Disposable {
  if (!screen.isTerminal) return { [Symbol.dispose]: () => undefined };
  const region = openLiveRegion(screen);
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const elapsed = performance.now() - startedAt;
    if (elapsed < delayMilliseconds) return;
    const step = Math.floor(elapsed / drawIntervalMilliseconds);
    const line = `${label} ${renderBar(step)} ${formatDuration(elapsed / 1000)}`;
    region.show([truncateToWidth(line, screen.columns() - 1)]);
  }, drawIntervalMilliseconds);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      region.clear();
    },
  };
}

function renderBar(step: number): string {
  const range = barColumns - filledColumns;
  const phase = step % (2 * range);
  const offset = phase < range ? phase : 2 * range - phase;
  return `▕${" ".repeat(offset)}${"█".repeat(filledColumns)}${" ".repeat(range - offset)}▏`;
}
