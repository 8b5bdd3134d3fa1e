import { expect, test } from "vitest";
import type { Screen } from "./screen.ts";
import { openTransferProgress } from "./transfer-progress.ts";

function openLines(
  isTerminal: boolean,
  columns = 80,
): { readonly screen: Screen; readonly written: string[] } {
  const written: string[] = [];
  const write = (text: string): void => void written.push(text);
  return {
    written,
    screen: {
      isTerminal,
      columns: () => columns,
      rows: () => 24,
      write,
      line: (text = "") => write(text),
      style: (_format, text) => text,
    },
  };
}

const digest = "sha256:aa";

test("without a terminal a layer is one line when it begins and one when it is there; resuming is said", () => {
  const { screen, written } = openLines(false);
  const progress = openTransferProgress(screen);
  for (const completed of [42e6, 60e6, 80e6, 100e6]) {
    progress.take({ status: "pulling aa", digest, total: 100e6, completed });
  }
  progress.take({ status: "success" });
  progress.end();
  expect(written).toEqual([
    "pulling aa: 100 MB",
    "pulling aa: resuming at 42%",
    "pulling aa: done",
    "success",
  ]);
  expect(progress.sums()).toEqual({ completed: 100e6, total: 100e6 });
});

test.each([30, 50, 80, 200])("in a window of %i columns no bar is wider", (columns) => {
  const { screen, written } = openLines(true, columns);
  const progress = openTransferProgress(screen);
  progress.take({ status: "pulling 4f659a1e86d7", digest, total: 98_362_432, completed: 1e6 });
  progress.end();
  // What moves and hides the cursor takes no room.
  const moves = new RegExp(`${RegExp.escape("\u001B[")}\\??\\d*[A-Za-z]`, "gu");
  const lines = written.join("").replaceAll(moves, "").replaceAll("\r", "").split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(columns);
  expect(lines.join("")).toContain("1%");
});
