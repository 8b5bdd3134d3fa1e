import { sanitizeLine } from "./sanitize-text.ts";
import type { Screen } from "./screen.ts";
import { displayWidth, padToWidth, truncateToWidth } from "./text-width.ts";

export type TableOptions = {
  readonly screen: Pick<Screen, "isTerminal" | "columns">;
  /** Headers of the columns that a narrow window may shorten and drop, least important first. */
  readonly dropOrder: readonly string[];
};

const wideGap = 4;
const narrowGap = 2;
const minColumnWidth = 7;

/**
 * Renders aligned columns with headers. In a terminal, lines are never wrapped: the gaps shrink, then the least
 * important columns are shortened, then dropped, then lines are truncated. A pipe receives the full table.
 */
export function renderTable(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { screen, dropOrder }: TableOptions,
): readonly string[] {
  const table = [headers, ...rows.map((row) => row.map(sanitizeLine))];
  const maxWidth = screen.isTerminal ? screen.columns() - 1 : Number.MAX_SAFE_INTEGER;
  const widths = headers.map((_, column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ""))));
  const order = dropOrder.map((header) => headers.indexOf(header));
  const gap = lineWidth(widths, wideGap) <= maxWidth ? wideGap : narrowGap;
  for (const isDropped of [false, true]) {
    for (const column of order)
      shrinkColumn(widths, column, { isDropped, surplus: lineWidth(widths, gap) - maxWidth });
  }
  return table.map((row) => {
    const cells = row.flatMap((cell, column) => {
      const width = widths[column] ?? 0;
      return width === 0 ? [] : [padToWidth(truncateToWidth(cell, width), width)];
    });
    return truncateToWidth(cells.join(" ".repeat(gap)).trimEnd(), maxWidth);
  });
}

function lineWidth(widths: readonly number[], gap: number): number {
  const shown = widths.filter((width) => width > 0);
  return shown.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, shown.length - 1);
}

type ShrinkOptions = { readonly isDropped: boolean; readonly surplus: number };

/** Shrinks a column by the surplus width of the line, down to a minimum, or drops it. */
function shrinkColumn(widths: number[], column: number, { isDropped, surplus }: ShrinkOptions): void {
  const width = widths[column] ?? 0;
  if (surplus <= 0 || width === 0) return;
  widths[column] = isDropped ? 0 : Math.max(Math.min(minColumnWidth, width), width - surplus);
}
