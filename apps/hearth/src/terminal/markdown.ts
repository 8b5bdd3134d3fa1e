import { displayWidth, padToWidth, type Screen, wrapToWidth } from "@hearth-and-keep/terminal";
import { lexer, type Token, type Tokens } from "marked";

export type Block = { readonly token: Token; readonly raw: string };

/** Splits Markdown into blocks, whose raw texts add up to the input. The last block may be incomplete. */
export function parseMarkdown(text: string): readonly Block[] {
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

/** Renders one block in lines that fit the window. The text must already be sanitized. */
export function renderBlock({ token }: Block, screen: Screen): readonly string[] {
  return renderToken(token, { screen, columns: screen.columns() - 1 });
}

type RenderContext = { readonly screen: Screen; readonly columns: number };

// The casts follow from `type`: marked's union also contains generic extension tokens, which are not used here.
function renderToken(token: Token, context: RenderContext): readonly string[] {
  const { screen, columns } = context;
  switch (token.type) {
    case "space":
      return [""];
    case "hr":
      return [screen.style("dim", "─".repeat(Math.min(columns, 40)))];
    case "heading":
      return wrapToWidth(screen.style("bold", renderInline(token.tokens ?? [], screen)), columns);
    case "code":
      return renderCodeBlock(String(token["text"]), context);
    case "blockquote":
      return renderNested(token.tokens ?? [], context, { first: "│ ", rest: "│ " });
    case "list":
      // `type` identifies the token.
      return renderList(token as Tokens.List, context);
    case "table":
      // `type` identifies the token.
      return renderTable(token as Tokens.Table, context);
    case "html":
      return wrapToWidth(token.raw.trimEnd(), columns);
    case "def":
      return [];
    default:
      return wrapToWidth(
        renderInline("tokens" in token ? (token.tokens ?? [token]) : [token], screen),
        columns,
      );
  }
}

/** Renders blocks inside another block, with a prefix on each line. */
function renderNested(
  tokens: readonly Token[],
  { screen, columns }: RenderContext,
  prefix: { readonly first: string; readonly rest: string },
): readonly string[] {
  const inner = { screen, columns: Math.max(8, columns - displayWidth(prefix.first)) };
  const lines = tokens.flatMap((token) => renderToken(token, inner));
  while (lines.at(-1) === "") lines.pop();
  return lines.map((line, index) => screen.style("dim", index === 0 ? prefix.first : prefix.rest) + line);
}

function renderCodeBlock(text: string, { screen, columns }: RenderContext): readonly string[] {
  const bar = screen.style("dim", "  │ ");
  // Long lines are wrapped rather than truncated, so that no code is lost.
  return text
    .split("\n")
    .flatMap((line) => wrapToWidth(line, columns - 4).map((row) => bar + screen.style("cyan", row)));
}

function renderList(
  { ordered, start, items, loose }: Tokens.List,
  context: RenderContext,
): readonly string[] {
  return items.flatMap((item, index) => {
    const checkbox = item.task ? `[${item.checked === true ? "x" : " "}] ` : "";
    const marker = `${ordered ? `${(start === "" ? 1 : start) + index}.` : "•"} ${checkbox}`;
    // In a tight list the checkbox is a token of the item; in a loose one it is inside the first paragraph.
    const tokens = item.tokens.filter(({ type }) => type !== "checkbox");
    const lines = renderNested(tokens, context, { first: marker, rest: " ".repeat(displayWidth(marker)) });
    if (loose && index < items.length - 1) return [...lines, ""];
    return lines.length === 0 ? [marker.trimEnd()] : lines;
  });
}

/** Aligned columns; a table that is too wide for the window is rendered as one line per cell. */
function renderTable({ header, rows }: Tokens.Table, { screen, columns }: RenderContext): readonly string[] {
  const names = header.map(({ tokens }) => renderInline(tokens, screen));
  const cells = rows.map((row) => row.map(({ tokens }) => renderInline(tokens, screen)));
  const widths = names.map((name, column) =>
    Math.max(displayWidth(name), ...cells.map((row) => displayWidth(row[column] ?? ""))),
  );
  const totalWidth = widths.reduce((sum, width) => sum + width, 0) + 3 * (widths.length - 1);
  if (totalWidth > columns) {
    const records = cells.map((row) =>
      row.flatMap((cell, column) =>
        wrapToWidth(`${screen.style("bold", names[column] ?? "")}: ${cell}`, columns),
      ),
    );
    return records.flatMap((record, index) => (index === 0 ? record : ["", ...record]));
  }
  const renderRow = (row: readonly string[]): string =>
    row
      .map((cell, column) => padToWidth(cell, widths[column] ?? 0))
      .join(screen.style("dim", " │ "))
      .trimEnd();
  const divider = screen.style("dim", widths.map((width) => "─".repeat(width)).join("─┼─"));
  return [renderRow(names.map((name) => screen.style("bold", name))), divider, ...cells.map(renderRow)];
}

function renderInline(tokens: readonly Token[], screen: Screen): string {
  return tokens.map((token) => renderInlineToken(token, screen)).join("");
}

function renderInlineToken(token: Token, screen: Screen): string {
  const inner = (): string =>
    "tokens" in token && token.tokens ? renderInline(token.tokens, screen) : decodeEntities(tokenText(token));
  switch (token.type) {
    case "strong":
      return screen.style("bold", inner());
    case "em":
      return screen.style("italic", inner());
    case "codespan":
      return screen.style("cyan", tokenText(token));
    case "del": {
      const text = inner();
      const styled = screen.style("strikethrough", text);
      // Without styles, deleted text must not look like regular text.
      return styled === text ? `~~${text}~~` : styled;
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
      return `${tokenText(token)} (${String(token["href"])})`;
    default:
      return inner();
  }
}

function tokenText(token: Token): string {
  return "text" in token ? String(token.text) : token.raw;
}

/** marked does not decode HTML entities. */
function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39);/gu, (entity) => entities[entity] ?? entity);
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};
