import { expect, test } from "vitest";
import { drawTable } from "./table.ts";
import { widthOf } from "./text-width.ts";

const names = ["NAME", "ID", "SIZE", "PROCESSOR", "UNTIL"];
const least = ["ID", "PROCESSOR", "UNTIL", "SIZE"];
const rows = [
  ["smol:latest", "5f4d1c2b3a49", "178 MB", "100% CPU", "4 minutes from now"],
  ["team/longer-name-of-a-model:latest", "0a1b2c3d4e5f", "3.5 MB", "40%/60% CPU/GPU", "stopped"],
];

test.each([20, 36, 60, 80, 100, 160])(
  "in a window of %i columns no line is broken, and names come first",
  (columns) => {
    const lines = drawTable(names, rows, { screen: { isTerminal: true, columns: () => columns }, least });
    expect(Math.max(...lines.map(widthOf))).toBeLessThan(columns);
    expect(lines[0]).toMatch(/^NAME/u);
    expect(lines[1]).toMatch(/^smol:latest/u);
  },
);

test("what matters least is shortened and left out first, and a script gets everything", () => {
  const narrow = drawTable(names, rows, { screen: { isTerminal: true, columns: () => 66 }, least });
  expect(narrow[0]).toContain("UNTIL");
  expect(narrow[0]).not.toContain("ID");
  const whole = drawTable(names, rows, { screen: { isTerminal: false, columns: () => 20 }, least });
  expect(whole[2]).toContain("0a1b2c3d4e5f");
  expect(whole[2]).toContain("stopped");
});
