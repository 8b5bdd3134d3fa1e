import { padTo, widthOf } from "./text-width.ts";
import { makeSafeLine } from "./untrusted-text.ts";

const gap = "    ";

/** Columns one under the other, with their names above in capitals. */
export function drawTable(names: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const table = [names, ...rows.map((row) => row.map(makeSafeLine))];
  const widths = names.map((_, column) => Math.max(...table.map((row) => widthOf(row[column] ?? ""))));
  return table.map((row) =>
    row
      .map((cell, column) => padTo(cell, widths[column] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}
