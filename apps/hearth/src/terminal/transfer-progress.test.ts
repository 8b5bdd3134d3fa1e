import type { Screen } from "@hearth-and-keep/terminal";
import { expect, test } from "vitest";
import { openTransferProgress } from "./transfer-progress.ts";

function openRecordingScreen(
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
      writeLine: (text = "") => write(text),
      style: (_format, text) => text,
    },
  };
}

const digest = "sha256:aa";

test("without a terminal, a layer prints a line when it starts, when it resumes and when it is done", () => {
  const { screen, written } = openRecordingScreen(false);
  const progress = openTransferProgress(screen);
  for (const completed of [42e6, 60e6, 80e6, 100e6]) {
    progress.update({ status: "pulling aa", digest, total: 100e6, completed });
  }
  progress.update({ status: "success" });
  progress.close();
  expect(written).toEqual([
    "pulling aa: 100 MB",
    "pulling aa: resuming at 42%",
    "pulling aa: done",
    "success",
  ]);
  expect(progress.totals()).toEqual({ completed: 100e6, total: 100e6 });
});

test.each([30, 50, 80, 200])("in a window of %i columns no line is wider", (columns) => {
  const { screen, written } = openRecordingScreen(true, columns);
  const progress = openTransferProgress(screen);
  progress.update({ status: "pulling 4f659a1e86d7", digest, total: 98_362_432, completed: 1e6 });
  progress.close();
  // Sequences that move and hide the cursor have no width.
  const cursorSequences = new RegExp(`${RegExp.escape("\u001B[")}\\??\\d*[A-Za-z]`, "gu");
  const lines = written.join("").replaceAll(cursorSequences, "").replaceAll("\r", "").split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(columns);
  expect(lines.join("")).toContain("1%");
});
