import { displayWidth, type Screen } from "@hearth-and-keep/terminal";
import { expect, test } from "vitest";
import { parseMarkdown, renderBlock } from "./markdown.ts";
import { openStreamedMarkdown } from "./streamed-markdown.ts";

/** A screen that records its lines, without styles. */
function openRecordingScreen(columns = 40): {
  readonly screen: Screen;
  readonly lines: () => readonly string[];
} {
  const lines: string[] = [""];
  const write = (text: string): void => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches cursor movements
    // oxlint-disable-next-line no-control-regex -- matches cursor movements
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
    writeLine: (text = "") => write(`${text}\n`),
    style: (_format, text) => text,
  };
  return { screen, lines: () => lines.slice(0, -1) };
}

const text =
  "# Title\n\nA *long* paragraph with **many** words in it, which is broken.\n\n- one\n- two\n\n```\ncode\n```\n\nEnd.\n";

test("the raw texts of complete blocks are a prefix of the text, so that nothing is lost or printed twice", () => {
  for (let end = 0; end <= text.length; end += 1) {
    const complete = parseMarkdown(text.slice(0, end)).slice(0, -1);
    expect(text.startsWith(complete.map(({ raw }) => raw).join(""))).toBe(true);
  }
});

test.each([1, 3, 7, 1000])("chunks of %i characters result in the same lines", (size) => {
  const { screen, lines } = openRecordingScreen();
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

test("a table that is too wide for the window is rendered as one line per cell", () => {
  const { screen } = openRecordingScreen(24);
  const [block] = parseMarkdown("| name | meaning |\n|---|---|\n| first | something rather long |\n");
  const lines = block === undefined ? [] : renderBlock(block, screen);
  expect(lines).toEqual(["name: first", "meaning: something", "rather long"]);
  for (const line of lines) expect(displayWidth(line)).toBeLessThan(24);
});

test("a task has one checkbox next to its text, code is not decoded, and deleted text is marked", () => {
  const { screen } = openRecordingScreen();
  const render = (markdown: string) => parseMarkdown(markdown).flatMap((block) => renderBlock(block, screen));
  expect(render("- [x] done thing\n- [ ] open")).toEqual(["• [x] done thing", "• [ ] open"]);
  expect(render("1. [x] loose\n\n2. plain")).toEqual(["1. [x] loose", "", "2. plain"]);
  expect(render("`&lt;` is &lt;")).toEqual(["&lt; is <"]);
  expect(render("```\n&amp;\n```")).toEqual(["  │ &amp;"]);
  expect(render("~~wrong~~ right")).toEqual(["~~wrong~~ right"]);
});
