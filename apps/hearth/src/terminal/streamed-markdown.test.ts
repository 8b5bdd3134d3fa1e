import { expect, test } from "vitest";
import { readMarkdown, renderBlock } from "./markdown.ts";
import type { Screen } from "./screen.ts";
import { openStreamedMarkdown } from "./streamed-markdown.ts";
import { widthOf } from "./text-width.ts";

/** A window that keeps what is written to it, without colours. */
function openRecorded(columns = 40): { readonly screen: Screen; readonly lines: () => readonly string[] } {
  const lines: string[] = [""];
  const write = (text: string): void => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a region moves by
    // oxlint-disable-next-line no-control-regex -- what a region moves by
    for (const part of text.split(/(\u001B\[\??\d*[A-Za-z]|\r|\n)/u)) {
      const up = part.startsWith("\u001B") ? /\[(\d+)A$/u.exec(part)?.[1] : undefined;
      if (up !== undefined) lines.splice(lines.length - 1 - Number(up));
      else if (part === "\n") lines.push("");
      else if (part === "\r" || part.startsWith("\u001B")) {
        if (up === undefined && lines.length === 0) lines.push("");
      } else if (lines.length === 0) lines.push(part);
      else lines[lines.length - 1] += part;
      if (lines.length === 0) lines.push("");
    }
  };
  const screen: Screen = {
    isTerminal: true,
    columns: () => columns,
    rows: () => 50,
    write,
    line: (text = "") => write(`${text}\n`),
    style: (_format, text) => text,
  };
  return { screen, lines: () => lines.slice(0, -1) };
}

const text =
  "# Title\n\nA *long* paragraph with **many** words in it, which is broken.\n\n- one\n- two\n\n```\ncode\n```\n\nEnd.\n";

test("what the blocks but the last were read from is how the text begins, so that nothing is lost or drawn twice", () => {
  for (let end = 0; end <= text.length; end += 1) {
    const settled = readMarkdown(text.slice(0, end)).slice(0, -1);
    expect(text.startsWith(settled.map(({ raw }) => raw).join(""))).toBe(true);
  }
});

test.each([1, 3, 7, 1000])("pieces of %i letters end in the same lines", (size) => {
  const { screen, lines } = openRecorded();
  const shown = openStreamedMarkdown(screen);
  for (let start = 0; start < text.length; start += size) shown.add(text.slice(start, start + size));
  shown.end();
  expect(lines()).toEqual([
    "Title",
    "",
    "A long paragraph with many words in it,",
    "which is broken.",
    "",
    "• one",
    "• two",
    "",
    "  │ code",
    "",
    "End.",
  ]);
});

test("a table that is too wide for the window becomes one line for each cell", () => {
  const { screen } = openRecorded(24);
  const [block] = readMarkdown("| name | meaning |\n|---|---|\n| first | something rather long |\n");
  const lines = block === undefined ? [] : renderBlock(block, screen);
  expect(lines).toEqual(["name: first", "meaning: something", "rather long"]);
  for (const line of lines) expect(widthOf(line)).toBeLessThan(24);
});

test("a task has one box and its text beside it, code stays as written, and what is struck out is seen to be", () => {
  const { screen } = openRecorded();
  const draw = (markdown: string) => readMarkdown(markdown).flatMap((block) => renderBlock(block, screen));
  expect(draw("- [x] done thing\n- [ ] open")).toEqual(["• [x] done thing", "• [ ] open"]);
  expect(draw("1. [x] loose\n\n2. plain")).toEqual(["1. [x] loose", "", "2. plain"]);
  expect(draw("`&lt;` is &lt;")).toEqual(["&lt; is <"]);
  expect(draw("```\n&amp;\n```")).toEqual(["  │ &amp;"]);
  expect(draw("~~wrong~~ right")).toEqual(["~~wrong~~ right"]);
});
