import { displayWidth, type Screen } from "@hearth-and-keep/terminal";

/** The last lines of the terminal, which are redrawn when their content changes. */
export type LiveRegion = {
  /** Replaces the content; only changed lines are redrawn. */
  show(lines: readonly string[]): void;
  /** Makes the content permanent and starts an empty region below it. */
  commit(): void;
  /** Removes the content. */
  clear(): void;
};

const hideCursor = "\u001B[?25l";
const showCursor = "\u001B[?25h";

/** The cursor stays at the start of the line below the region. For terminals only. */
export function openLiveRegion(screen: Screen): LiveRegion {
  let shown: readonly string[] = [];
  const show = (lines: readonly string[]): void => {
    const unchanged = commonPrefixLength(shown, lines);
    if (unchanged === shown.length && unchanged === lines.length) return;
    // Lines that have scrolled out of the window cannot be redrawn.
    const firstRedrawn = Math.max(unchanged, firstVisibleLine(shown, screen));
    const rowsUp = shown.slice(firstRedrawn).reduce((sum, line) => sum + rowCount(line, screen), 0);
    const moveUp = rowsUp === 0 ? "" : `\u001B[${rowsUp}A`;
    const text = lines.slice(firstRedrawn).map((line) => `${line}\n`);
    screen.write(`${hideCursor}\r${moveUp}\u001B[J${text.join("")}${showCursor}`);
    shown = lines;
  };
  return {
    show,
    commit: () => {
      shown = [];
    },
    clear: () => show([]),
  };
}

function commonPrefixLength(one: readonly string[], other: readonly string[]): number {
  const index = one.findIndex((line, position) => line !== other[position]);
  return index === -1 ? Math.min(one.length, other.length) : index;
}

function firstVisibleLine(shown: readonly string[], screen: Screen): number {
  let remainingRows = screen.rows() - 1;
  for (let index = shown.length - 1; index >= 0; index -= 1) {
    remainingRows -= rowCount(shown[index] ?? "", screen);
    if (remainingRows < 0) return index + 1;
  }
  return 0;
}

/** A line takes several rows after the window has become narrower. */
function rowCount(line: string, screen: Screen): number {
  return Math.max(1, Math.ceil(displayWidth(line) / screen.columns()));
}
