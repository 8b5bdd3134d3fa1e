import { lineOf } from "./finding.ts";

export type MarkdownLink = { readonly target: string; readonly line: number };

const linkForms = [
  /\]\(\s*<(?<target>[^>\n]*)>/gu,
  /\]\(\s*(?<target>[^\s<)(]*(?:\([^\s)]*\)[^\s)(]*)*)/gu,
  /^ {0,3}\[[^\]^\n][^\]\n]*\]:\s+<?(?<target>[^\s>]+)/gmu,
  /<(?:a|img)\b[^>]*?\b(?:href|src)="(?<target>[^"]*)"/gu,
];

/** The link targets of a Markdown text: inline links, images, reference definitions and HTML. */
export function linksIn(markdown: string): MarkdownLink[] {
  const text = blankCode(markdown);
  return linkForms.flatMap((form) =>
    [...text.matchAll(form)].map((match) => ({
      target: match.groups?.["target"] ?? "",
      line: lineOf(text, match.index),
    })),
  );
}

/** The anchors of a Markdown text: one per heading, generated as code hosts do, and explicit ids. */
export function anchorsIn(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const match of blankFences(markdown).matchAll(/^ {0,3}#{1,6}\s+(?<title>.+?)\s*#*\s*$/gmu)) {
    const anchor = toAnchor(match.groups?.["title"] ?? "");
    let unique = anchor;
    for (let copy = 1; anchors.has(unique); copy += 1) unique = `${anchor}-${copy}`;
    anchors.add(unique);
  }
  for (const match of markdown.matchAll(/<[a-z0-9]+\b[^>]*?\b(?:id|name)="(?<id>[^"]+)"/gu)) {
    anchors.add(match.groups?.["id"] ?? "");
  }
  return anchors;
}

function toAnchor(title: string): string {
  const plain = title.replaceAll(/\[(?<text>[^\]]*)\]\([^)]*\)/gu, "$<text>").replaceAll(/<[^>]*>/gu, "");
  return plain
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Links in code are not followed. Line breaks stay, so that line numbers are kept. */
function blankCode(markdown: string): string {
  return blankFences(markdown).replaceAll(/(?<ticks>`+)(?!`)[\s\S]*?[^`]\k<ticks>(?!`)/gu, keepLineBreaks);
}

function blankFences(markdown: string): string {
  return markdown
    .replaceAll(/^ {0,3}(?<fence>`{3,}|~{3,})[\s\S]*?^ {0,3}\k<fence>[`~]*[ \t]*$/gmu, keepLineBreaks)
    .replaceAll(/<!--[\s\S]*?-->/gu, keepLineBreaks);
}

function keepLineBreaks(text: string): string {
  return text.replaceAll(/[^\n]/gu, " ");
}
