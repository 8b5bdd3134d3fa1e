import type { Screen } from "./screen.ts";
import { cutTo, padTo, widthOf } from "./text-width.ts";
import { makeSafeLine } from "./untrusted-text.ts";

export type TableFit = {
  readonly screen: Pick<Screen, "isTerminal" | "columns">;
  /** Names of columns in the order in which a narrow window goes without them; the others stay. */
  readonly least: readonly string[];
};

const widestGap = 4;
const narrowGap = 2;
const leastColumns = 6;

/**
 * Columns one under the other, with their names above in capitals. In a terminal no line is broken: the gaps shrink,
 * then the least important columns are shortened, then left out, then the rest is cut. A script gets all of it.
 */
export function drawTable(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  { screen, least }: TableFit,
): readonly string[] {
  const table = [names, ...rows.map((row) => row.map(makeSafeLine))];
  const room = screen.isTerminal ? screen.columns() - 1 : Number.MAX_SAFE_INTEGER;
  const widths = names.map((_, column) => Math.max(...table.map((row) => widthOf(row[column] ?? ""))));
  const order = least.map((name) => names.indexOf(name));
  const gap = widthOfLine(widths, widestGap) <= room ? widestGap : narrowGap;
  for (const isLeftOut of [false, true]) {
    for (const column of order)
      narrow(widths, column, { isLeftOut, surplus: widthOfLine(widths, gap) - room });
  }
  return table.map((row) => {
    const shown = row.flatMap((cell, column) => {
      const width = widths[column] ?? 0;
      return width === 0 ? [] : [padTo(cutTo(cell, width), width)];
    });
    return cutTo(shown.join(" ".repeat(gap)).trimEnd(), room);
  });
}

function widthOfLine(widths: readonly number[], gap: number): number {
  const shown = widths.filter((width) => width > 0);
  return shown.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, shown.length - 1);
}

type Narrowing = { readonly isLeftOut: boolean; readonly surplus: number };

/** Takes from one column what the line has too much, as far as the column can give it. */
function narrow(widths: number[], column: number, { isLeftOut, surplus }: Narrowing): void {
  const width = widths[column] ?? 0;
  if (surplus <= 0 || width === 0) return;
  widths[column] = isLeftOut ? 0 : Math.max(Math.min(leastColumns, width), width - surplus);
}
