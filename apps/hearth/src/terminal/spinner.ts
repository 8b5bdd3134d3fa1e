import { type Screen, truncateToWidth } from "@hearth-and-keep/terminal";
import { formatDuration } from "./format-units.ts";
import { openLiveRegion } from "./live-region.ts";

const barColumns = 16;
const filledColumns = 5;
const drawIntervalMilliseconds = 120;
/** Short operations show no spinner. */
const delayMilliseconds = 250;

export type Spinner = Disposable & {
  /** Replaces the label, and shows how much is done from now on. */
  showPercent(label: string, percent: number): void;
  /** Replaces the label. */
  showLabel(label: string): void;
};

const ignore = (): void => undefined;
const invisible: Spinner = { showPercent: ignore, showLabel: ignore, [Symbol.dispose]: ignore };

/** Shows a progress bar with a label and the elapsed time until disposed; indeterminate until it is given a percentage. */
export function showSpinner(screen: Screen, firstLabel: string): Spinner {
  if (!screen.isTerminal) return invisible;
  const region = openLiveRegion(screen);
  const startedAt = performance.now();
  let label = firstLabel;
  let done: number | undefined;
  const timer = setInterval(() => {
    const elapsed = performance.now() - startedAt;
    if (elapsed < delayMilliseconds) return;
    const step = Math.floor(elapsed / drawIntervalMilliseconds);
    const bar = done === undefined ? renderBar(step) : `${renderPercent(done)} ${done} %`;
    const line = `${label} ${bar} ${formatDuration(elapsed / 1000)}`;
    region.show([truncateToWidth(line, screen.columns() - 1)]);
  }, drawIntervalMilliseconds);
  return {
    showPercent(nextLabel, percent) {
      label = nextLabel;
      done = percent;
    },
    showLabel(nextLabel) {
      label = nextLabel;
      done = undefined;
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      region.clear();
    },
  };
}

function renderPercent(percent: number): string {
  const filled = Math.round((Math.min(100, percent) / 100) * barColumns);
  return `▕${"█".repeat(filled)}${" ".repeat(barColumns - filled)}▏`;
}

function renderBar(step: number): string {
  const range = barColumns - filledColumns;
  const phase = step % (2 * range);
  const offset = phase < range ? phase : 2 * range - phase;
  return `▕${" ".repeat(offset)}${"█".repeat(filledColumns)}${" ".repeat(range - offset)}▏`;
}
