import { Lexer, type Token } from "marked";
import { expect, test } from "vitest";
import { type Blocks, readBlocks } from "./read-blocks.ts";

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

test("a text that grows letter by letter is read as the whole text is", () => {
  let blocks: Blocks | undefined;
  for (let length = 1; length <= text.length; length += 1) blocks = readBlocks(text.slice(0, length), blocks);
  expect(kinds([...(blocks?.settled ?? []), ...(blocks?.open ?? [])])).toEqual(kinds(new Lexer().lex(text)));
  expect(blocks?.settled.length).toBeGreaterThan(6);
});

test("blocks that are settled stay the same objects, so that they are not drawn again", () => {
  const before = readBlocks(text);
  const after = readBlocks(`${text} And more.\n\nA new paragraph.`, before);
  expect(before.settled.length).toBeGreaterThan(0);
  expect(before.settled.every((token, place) => after.settled[place] === token)).toBe(true);
  expect(after.settled.length).toBeGreaterThan(before.settled.length);
});

test("a text that was replaced is read anew, one with other line ends is one block, and an endless line is plain", () => {
  expect(kinds(readBlocks("other", readBlocks(text)).open)).toEqual(["paragraph: other"]);
  expect(readBlocks("one\r\n\r\ntwo").open.map(({ type }) => type)).toEqual(["group"]);
  const [plain] = readBlocks("x".repeat(1_000_000)).open;
  expect(plain?.type).toBe("plain");
});
