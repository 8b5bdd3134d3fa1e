import type { MarkedToken, Token, Tokens } from "marked";
import { memo, type ReactNode, useRef } from "react";
import { CodeBlock } from "./code-block.tsx";
import { type Blocks, readBlocks } from "./read-blocks.ts";
import { readEntities } from "./read-entities.ts";
import { cutLong, safeAddress, showTurning } from "./safe-text.ts";

/** `isGrowing` while more may come: then the last block is left without colours. */
export function Markdown({
  text,
  isGrowing = false,
}: {
  readonly text: string;
  readonly isGrowing?: boolean;
}) {
  const read = useRef<Blocks>(undefined);
  read.current = readBlocks(text, read.current);
  const { settled, open } = read.current;
  return (
    <div className="markdown" dir="auto">
      {[...settled, ...open].map((token, place) => (
        <Block key={place} token={token} isOpen={isGrowing && place >= settled.length} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ token, isOpen }: { readonly token: Token; readonly isOpen: boolean }) {
  return drawBlock(token, isOpen);
});

/** What reads Markdown gives, and the two kinds of our own. */
type Known = MarkedToken | { readonly type: "plain"; readonly raw: string } | Group;
type Group = { readonly type: "group"; readonly raw: string; readonly tokens: Token[] };

function drawBlock(token: Token, isOpen: boolean): ReactNode {
  // No extension is set, so these are all there are.
  const block = token as Known;
  switch (block.type) {
    case "code":
      return <CodeBlock code={cutLong(block.text)} language={block.lang ?? ""} isOpen={isOpen} />;
    case "heading":
      // Below the page's own heading; a model that skips levels would break their order for a screen reader.
      return <h2 className={`depth-${block.depth}`}>{drawInlines(block.tokens)}</h2>;
    case "list":
      return drawList(block);
    case "table":
      return drawTable(block);
    case "blockquote":
      return <blockquote>{drawBlocks(block.tokens)}</blockquote>;
    case "hr":
      return <hr />;
    case "paragraph":
      return <p>{drawInlines(block.tokens)}</p>;
    case "text":
      return block.tokens === undefined ? sayRead(block.text) : drawInlines(block.tokens);
    case "html":
    case "plain":
      return <p className="as-is">{say(cutLong(block.raw))}</p>;
    case "group":
      return drawBlocks(block.tokens);
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

function drawBlocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, place) => <Block key={place} token={token} isOpen={false} />);
}

function drawList({ ordered, start, items }: Tokens.List): ReactNode {
  const drawn = items.map((item, place) => (
    <li key={place} className={item.task ? "task" : undefined}>
      {drawBlocks(item.tokens)}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{drawn}</ol> : <ul>{drawn}</ul>;
}

function drawTable({ header, rows }: Tokens.Table): ReactNode {
  return (
    <section className="wide-table" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((cell, place) => (
              <th key={place}>{drawInlines(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {row.map((cell, place) => (
                <td key={place}>{drawInlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function drawInlines(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, place) => <Inline key={place} token={token} />);
}

function Inline({ token }: { readonly token: Token }): ReactNode {
  // As above.
  const inline = token as MarkedToken;
  switch (inline.type) {
    case "strong":
      return <strong>{drawInlines(inline.tokens)}</strong>;
    case "em":
      return <em>{drawInlines(inline.tokens)}</em>;
    case "del":
      return <del>{drawInlines(inline.tokens)}</del>;
    case "codespan":
      return <code>{say(inline.text)}</code>;
    case "br":
      return <br />;
    case "link":
      return drawLink(inline.href, drawInlines(inline.tokens), inline.raw);
    case "image":
      // Loading it would tell another machine who reads this.
      return drawLink(inline.href, sayRead(`Image: ${inline.text || inline.href}`), inline.raw);
    case "checkbox":
      return inline.checked ? "☑ " : "☐ ";
    case "text":
      return inline.tokens === undefined ? sayRead(inline.text) : drawInlines(inline.tokens);
    case "escape":
      return say(inline.text);
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
      return say(inline.raw);
  }
}

function drawLink(href: string, words: ReactNode, raw: string): ReactNode {
  // Read first: an address is judged as the browser will understand it.
  const address = safeAddress(readEntities(href));
  if (address === undefined) return say(raw);
  return (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {words}
    </a>
  );
}

/** For prose; code is said as it was written. */
function sayRead(text: string): string {
  return say(readEntities(text));
}

function say(text: string): string {
  return showTurning(text);
}
