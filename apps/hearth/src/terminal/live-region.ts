import type { Screen } from "./screen.ts";
import { widthOf } from "./text-width.ts";

/** The last lines of the terminal, which are drawn anew as what they show changes. */
export type LiveRegion = {
  /** Draws what differs from what is there. */
  show(lines: readonly string[]): void;
  /** Leaves what is there for good; what comes next is below it. */
  keep(): void;
  /** Takes away what is there. */
  clear(): void;
};

const hideCursor = "\u001B[?25l";
const showCursor = "\u001B[?25h";

/** The cursor rests at the start of the line below the region. Only for a terminal. */
export function openLiveRegion(screen: Screen): LiveRegion {
  let shown: readonly string[] = [];
  const show = (lines: readonly string[]): void => {
    const same = commonStart(shown, lines);
    if (same === shown.length && same === lines.length) return;
    // What has left the window at its top cannot be reached, so it stays as it is.
    const reachable = Math.max(same, firstReachable(shown, screen));
    const up = shown.slice(reachable).reduce((sum, line) => sum + rowsOf(line, screen), 0);
    const fresh = lines.slice(reachable).map((line) => `${line}\n`);
    screen.write(`${hideCursor}\r${up === 0 ? "" : `\u001B[${up}A`}\u001B[J${fresh.join("")}${showCursor}`);
    shown = lines;
  };
  return {
    show,
    keep: () => {
      shown = [];
    },
    clear: () => show([]),
  };
}

function commonStart(one: readonly string[], other: readonly string[]): number {
  const index = one.findIndex((line, place) => line !== other[place]);
  return index === -1 ? Math.min(one.length, other.length) : index;
}

function firstReachable(shown: readonly string[], screen: Screen): number {
  let room = screen.rows() - 1;
  for (let index = shown.length - 1; index >= 0; index -= 1) {
    room -= rowsOf(shown[index] ?? "", screen);
    if (room < 0) return index + 1;
  }
  return 0;
}

/** A window that was made narrower has broken lines that it showed whole. */
function rowsOf(line: string, screen: Screen): number {
  return Math.max(1, Math.ceil(widthOf(line) / screen.columns()));
}
