import type { MarkedToken, Token, Tokens } from "marked";
import { memo, type ReactNode, useRef } from "react";
import { revealBidiControls } from "../../../design/reveal-bidi-controls.ts";
import { CodeBlock } from "./code-block.tsx";
import { decodeEntities } from "./decode-entities.ts";
import { type Blocks, parseBlocks } from "./parse-blocks.ts";
import { safeUrl, truncateText } from "./safe-text.ts";

export type MarkdownProps = {
  readonly text: string;
  /** More text may follow, so the code in open blocks is not highlighted yet. */
  readonly isStreaming?: boolean;
};

export function Markdown({ text, isStreaming = false }: MarkdownProps) {
  const blocks = useRef<Blocks>(undefined);
  blocks.current = parseBlocks(text, blocks.current);
  const { settled, open } = blocks.current;
  return (
    <div className="markdown" dir="auto">
      {[...settled, ...open].map((token, index) => (
        <Block key={index} token={token} isStreaming={isStreaming && index >= settled.length} />
      ))}
    </div>
  );
}

type BlockProps = { readonly token: Token; readonly isStreaming?: boolean };

const Block = memo(function Block({ token, isStreaming = false }: BlockProps) {
  return renderBlock(token, isStreaming);
});

/** The tokens of marked, and the two types that `parse-blocks.ts` adds. */
type BlockToken = MarkedToken | { readonly type: "plain"; readonly raw: string } | Group;
type Group = { readonly type: "group"; readonly raw: string; readonly tokens: Token[] };

function renderBlock(token: Token, isStreaming: boolean): ReactNode {
  // marked runs without extensions, so there are no other types.
  const block = token as BlockToken;
  switch (block.type) {
    case "code":
      return (
        <CodeBlock code={truncateText(block.text)} language={block.lang ?? ""} isStreaming={isStreaming} />
      );
    case "heading":
      // Always one level below the page's heading: skipped levels would break the outline for screen readers.
      return <h2 className={`depth-${block.depth}`}>{renderInlines(block.tokens)}</h2>;
    case "list":
      return renderList(block);
    case "table":
      return renderTable(block);
    case "blockquote":
      return <blockquote>{renderBlocks(block.tokens)}</blockquote>;
    case "hr":
      return <hr />;
    case "paragraph":
      return <p>{renderInlines(block.tokens)}</p>;
    case "text":
      return block.tokens === undefined ? renderText(block.text) : renderInlines(block.tokens);
    case "html":
    case "plain":
      return <p className="raw-text">{renderVerbatim(truncateText(block.raw))}</p>;
    case "group":
      return renderBlocks(block.tokens);
    case "space":
    case "def":
      return null;
    case "list_item":
    case "checkbox":
    case "br":
    case "codespan":
    case "del":
    case "em":
    case "escape":
    case "image":
    case "link":
    case "strong":
      return <Inline token={block} />;
  }
}

function renderBlocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function renderList({ ordered, start, items }: Tokens.List): ReactNode {
  const rendered = items.map((item, index) => (
    <li key={index} className={item.task ? "task" : undefined}>
      {renderBlocks(item.tokens)}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{rendered}</ol> : <ul>{rendered}</ul>;
}

function renderTable({ header, rows }: Tokens.Table): ReactNode {
  return (
    <section className="wide-table" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index}>{renderInlines(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowIndex) => (
            <tr key={rowIndex}>
              {row.map((cell, index) => (
                <td key={index}>{renderInlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function renderInlines(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { readonly token: Token }): ReactNode {
  // As above.
  const inline = token as MarkedToken;
  switch (inline.type) {
    case "strong":
      return <strong>{renderInlines(inline.tokens)}</strong>;
    case "em":
      return <em>{renderInlines(inline.tokens)}</em>;
    case "del":
      return <del>{renderInlines(inline.tokens)}</del>;
    case "codespan":
      return <code>{renderVerbatim(inline.text)}</code>;
    case "br":
      return <br />;
    case "link":
      return renderLink(inline.href, renderInlines(inline.tokens), inline.raw);
    case "image":
      // A link, because loading the image would reveal the reader to its server.
      return renderLink(inline.href, renderText(`Image: ${inline.text || inline.href}`), inline.raw);
    case "checkbox":
      return inline.checked ? "☑ " : "☐ ";
    case "text":
      return inline.tokens === undefined ? renderText(inline.text) : renderInlines(inline.tokens);
    case "escape":
      return renderVerbatim(inline.text);
    case "blockquote":
    case "code":
    case "def":
    case "heading":
    case "hr":
    case "html":
    case "list":
    case "list_item":
    case "paragraph":
    case "space":
    case "table":
      return renderVerbatim(inline.raw);
  }
}

function renderLink(href: string, content: ReactNode, raw: string): ReactNode {
  // Decoded first, so that the check sees the URL that the browser will open.
  const address = safeUrl(decodeEntities(href));
  if (address === undefined) return renderVerbatim(raw);
  return (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {content}
    </a>
  );
}

/** Prose contains character references; code is shown as written. */
function renderText(text: string): string {
  return renderVerbatim(decodeEntities(text));
}

function renderVerbatim(text: string): string {
  return revealBidiControls(text);
}
