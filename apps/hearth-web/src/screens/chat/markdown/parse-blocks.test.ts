import { Lexer, type Token } from "marked";
import { expect, test } from "vitest";
import { type Blocks, parseBlocks } from "./parse-blocks.ts";

const text = `# Title

A paragraph with **strong** words
over two lines.

- one
- two

  goes on

- three

\`\`\`js
const a = 1;

const b = 2;
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted

The end.`;

function kinds(tokens: readonly Token[]): readonly string[] {
  return tokens.map(({ type, raw }) => `${type}: ${raw}`);
}

test("text that grows character by character is parsed like the complete text", () => {
  let blocks: Blocks | undefined;
  for (let length = 1; length <= text.length; length += 1)
    blocks = parseBlocks(text.slice(0, length), blocks);
  expect(kinds([...(blocks?.settled ?? []), ...(blocks?.open ?? [])])).toEqual(kinds(new Lexer().lex(text)));
  expect(blocks?.settled.length).toBeGreaterThan(6);
});

test("settled blocks stay the same objects, so that React does not render them again", () => {
  const before = parseBlocks(text);
  const after = parseBlocks(`${text} And more.\n\nA new paragraph.`, before);
  expect(before.settled.length).toBeGreaterThan(0);
  expect(before.settled.every((token, index) => after.settled[index] === token)).toBe(true);
  expect(after.settled.length).toBeGreaterThan(before.settled.length);
});

test("replaced text is parsed from the start, text with CRLF line endings is one block, and a very long line is plain", () => {
  expect(kinds(parseBlocks("other", parseBlocks(text)).open)).toEqual(["paragraph: other"]);
  expect(parseBlocks("one\r\n\r\ntwo").open.map(({ type }) => type)).toEqual(["group"]);
  const [plain] = parseBlocks("x".repeat(1_000_000)).open;
  expect(plain?.type).toBe("plain");
});
