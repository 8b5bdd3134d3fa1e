import { expect, test } from "vitest";
import { renderTable } from "./table.ts";
import { displayWidth } from "./text-width.ts";

const headers = ["NAME", "ID", "SIZE", "PROCESSOR", "EXPIRES"];
const dropOrder = ["ID", "PROCESSOR", "EXPIRES", "SIZE"];
const rows = [
  ["smol:latest", "5f4d1c2b3a49", "178 MB", "100% CPU", "4 minutes from now"],
  ["team/longer-name-of-a-model:latest", "0a1b2c3d4e5f", "3.5 MB", "40%/60% CPU/GPU", "never"],
];

test.each([20, 36, 60, 80, 100, 160])(
  "in a window of %i columns no line is too wide, and names come first",
  (columns) => {
    const lines = renderTable(headers, rows, {
      screen: { isTerminal: true, columns: () => columns },
      dropOrder,
    });
    expect(Math.max(...lines.map(displayWidth))).toBeLessThan(columns);
    expect(lines[0]).toMatch(/^NAME/u);
    expect(lines[1]).toMatch(/^smol:latest/u);
  },
);

test("the least important columns are shortened and dropped first, and a pipe receives all columns", () => {
  const narrow = renderTable(headers, rows, {
    screen: { isTerminal: true, columns: () => 66 },
    dropOrder,
  });
  expect(narrow[0]).toContain("EXPIRES");
  expect(narrow[0]).not.toContain("ID");
  const full = renderTable(headers, rows, {
    screen: { isTerminal: false, columns: () => 20 },
    dropOrder,
  });
  expect(full[2]).toContain("0a1b2c3d4e5f");
  expect(full[2]).toContain("never");
});
