import { lexer, type Token, type Tokens } from "marked";
import type { Screen } from "./screen.ts";
import { padTo, widthOf, wrapTo } from "./text-width.ts";

export type Block = { readonly token: Token; readonly raw: string };

/** What a text in Markdown is made of, the last part perhaps unfinished; together their raw texts are the text. */
export function readMarkdown(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let before = "";
  for (const token of lexer(text)) {
    const last = blocks.at(-1);
    if (token.type !== "space" && token.type !== "def") {
      blocks.push({ token, raw: before + token.raw });
      before = "";
    } else if (last === undefined) before += token.raw;
    else blocks[blocks.length - 1] = { ...last, raw: last.raw + token.raw };
  }
  return blocks;
}

/** The lines of one block, none wider than the window. The text in it must have been made safe. */
export function renderBlock({ token }: Block, screen: Screen): readonly string[] {
  return block(token, { screen, columns: screen.columns() - 1 });
}

type Place = { readonly screen: Screen; readonly columns: number };

// Each token has the fields of its type; marked's own union also holds tokens of extensions, of which there are none.
function block(token: Token, place: Place): readonly string[] {
  const { screen, columns } = place;
  switch (token.type) {
    case "space":
      return [""];
    case "hr":
      return [screen.style("dim", "─".repeat(Math.min(columns, 40)))];
    case "heading":
      return wrapTo(screen.style("bold", inline(token.tokens ?? [], screen)), columns);
    case "code":
      return codeBlock(String(token["text"]), place);
    case "blockquote":
      return within(token.tokens ?? [], place, { first: "│ ", rest: "│ " });
    case "list":
      // The type says which of marked's tokens it is.
      return list(token as Tokens.List, place);
    case "table":
      // As above.
      return table(token as Tokens.Table, place);
    case "html":
      return wrapTo(token.raw.trimEnd(), columns);
    case "def":
      return [];
    default:
      return wrapTo(inline("tokens" in token ? (token.tokens ?? [token]) : [token], screen), columns);
  }
}

/** Blocks inside another, with a mark before them. */
function within(
  tokens: readonly Token[],
  { screen, columns }: Place,
  marks: { readonly first: string; readonly rest: string },
): readonly string[] {
  const inner = { screen, columns: Math.max(8, columns - widthOf(marks.first)) };
  const lines = tokens.flatMap((token) => block(token, inner));
  while (lines.at(-1) === "") lines.pop();
  return lines.map((line, index) => screen.style("dim", index === 0 ? marks.first : marks.rest) + line);
}

function codeBlock(text: string, { screen, columns }: Place): readonly string[] {
  const bar = screen.style("dim", "  │ ");
  // Breaking at spaces would change what the code looks like less than cutting it off.
  return text
    .split("\n")
    .flatMap((line) => wrapTo(line, columns - 4).map((part) => bar + screen.style("cyan", part)));
}

function list({ ordered, start, items, loose }: Tokens.List, place: Place): readonly string[] {
  return items.flatMap((item, index) => {
    const box = item.task ? `[${item.checked === true ? "x" : " "}] ` : "";
    const mark = `${ordered ? `${(start === "" ? 1 : start) + index}.` : "•"} ${box}`;
    // A box is a block of its own in a close list, and stands inside the first paragraph of a loose one.
    const tokens = item.tokens.filter(({ type }) => type !== "checkbox");
    const lines = within(tokens, place, { first: mark, rest: " ".repeat(widthOf(mark)) });
    return loose && index < items.length - 1 ? [...lines, ""] : lines.length === 0 ? [mark.trimEnd()] : lines;
  });
}

/** Columns as wide as their widest cell; where that is too wide for the window, one line for each cell. */
function table({ header, rows }: Tokens.Table, { screen, columns }: Place): readonly string[] {
  const names = header.map(({ tokens }) => inline(tokens, screen));
  const cells = rows.map((row) => row.map(({ tokens }) => inline(tokens, screen)));
  const widths = names.map((name, column) =>
    Math.max(widthOf(name), ...cells.map((row) => widthOf(row[column] ?? ""))),
  );
  const whole = widths.reduce((sum, width) => sum + width, 0) + 3 * (widths.length - 1);
  if (whole > columns) {
    const records = cells.map((row) =>
      row.flatMap((cell, column) => wrapTo(`${screen.style("bold", names[column] ?? "")}: ${cell}`, columns)),
    );
    return records.flatMap((record, index) => (index === 0 ? record : ["", ...record]));
  }
  const draw = (row: readonly string[]): string =>
    row
      .map((cell, column) => padTo(cell, widths[column] ?? 0))
      .join(screen.style("dim", " │ "))
      .trimEnd();
  const line = screen.style("dim", widths.map((width) => "─".repeat(width)).join("─┼─"));
  return [draw(names.map((name) => screen.style("bold", name))), line, ...cells.map(draw)];
}

function inline(tokens: readonly Token[], screen: Screen): string {
  return tokens.map((token) => inlineOne(token, screen)).join("");
}

function inlineOne(token: Token, screen: Screen): string {
  const inner = (): string =>
    "tokens" in token && token.tokens ? inline(token.tokens, screen) : decode(textOf(token));
  switch (token.type) {
    case "strong":
      return screen.style("bold", inner());
    case "em":
      return screen.style("italic", inner());
    case "codespan":
      return screen.style("cyan", textOf(token));
    case "del": {
      const text = inner();
      const struck = screen.style("strikethrough", text);
      // Without colours it would say what it takes back.
      return struck === text ? `~~${struck}~~` : struck;
    }
    case "checkbox":
      return "";
    case "br":
      return "\n";
    case "link": {
      const href = String(token["href"]);
      return inner() === href
        ? screen.style("underline", href)
        : `${inner()} (${screen.style("underline", href)})`;
    }
    case "image":
      return `${textOf(token)} (${String(token["href"])})`;
    default:
      return inner();
  }
}

function textOf(token: Token): string {
  return "text" in token ? String(token.text) : token.raw;
}

/** marked leaves entities as they were written. */
function decode(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39);/gu, (entity) => entities[entity] ?? entity);
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};
