import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Terminal columns that a text occupies; colours and styles occupy none. */
export function displayWidth(text: string): number {
  return stringWidth(text);
}

/** Truncates a text without colours, and ends it with an ellipsis if it was too wide. */
export function truncateToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += displayWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept}…`;
}

export function padToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - displayWidth(text)));
}

/**
 * Wraps at spaces, and inside words that are longer than a line. Styles that are open at a line break are closed before
 * it and reopened after it.
 */
export function wrapToWidth(text: string, columns: number): readonly string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, Math.max(1, columns)));
}

/**
 * wrap-ansi removes leading spaces, or, with `trim: false`, starts lines with the space that it broke at. Code must keep
 * its indentation, so placeholders of the same width stand in for it. Lines that fit are returned unchanged, because
 * wrap-ansi also normalizes Unicode.
 */
function wrapLine(line: string, columns: number): readonly string[] {
  if (displayWidth(line) <= columns) return [line];
  const body = line.replace(/^ +/u, "");
  const indent = Math.min(line.length - body.length, columns - 1);
  const [first = "", ...rest] = wrapAnsi("x".repeat(indent) + body, columns, { hard: true }).split("\n");
  return [" ".repeat(indent) + first.slice(indent), ...rest];
}
