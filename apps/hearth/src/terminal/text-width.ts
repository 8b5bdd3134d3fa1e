// oxlint-disable no-misleading-character-class -- ranges of single signs, of which some stand in pairs elsewhere
/** Scripts and signs that take two columns, by Unicode's East Asian Width. */
const wide =
  /[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F1E6}-\u{1F1FF}\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{1FA70}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\uFE0F/u;
const invisible = /^[\p{Mark}\u200B-\u200D\uFE00-\uFE0F]+$/u;
const onlySimple = /^[\u0020-\u007E]*$/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours, which take no room
// oxlint-disable-next-line no-control-regex -- our own colours, which take no room
const colours = /\u001B\[[0-9;]*m/gu;
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Columns that a text takes; our own colours take none. */
export function widthOf(text: string): number {
  const bare = text.includes("\u001B") ? text.replaceAll(colours, "") : text;
  if (onlySimple.test(bare)) return bare.length;
  let width = 0;
  for (const { segment } of segmenter.segment(bare)) width += widthOfSegment(segment);
  return width;
}

function widthOfSegment(segment: string): number {
  if (invisible.test(segment)) return 0;
  return wide.test(segment) ? 2 : 1;
}

/** Cut to a width, with a sign that it was; without colours in it. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += widthOfSegment(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept}…`;
}

export function padTo(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}

/**
 * Lines of at most so many columns, broken at spaces, and inside a word where it is longer than a line. Colours that
 * are open at a break are closed before it and opened after it.
 */
export function wrapTo(text: string, columns: number): readonly string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, Math.max(1, columns)));
}

function wrapLine(line: string, columns: number): readonly string[] {
  if (widthOf(line) <= columns) return [line];
  const lines: string[] = [];
  let current = "";
  let width = 0;
  for (const word of line.split(/(?<= )/u)) {
    const wordWidth = widthOf(word.trimEnd());
    if (width > 0 && width + wordWidth > columns) {
      lines.push(current.trimEnd());
      [current, width] = ["", 0];
    }
    if (wordWidth <= columns) {
      current += word;
      width += widthOf(word);
      continue;
    }
    for (const piece of breakWord(word, columns)) {
      if (width + widthOf(piece) > columns) {
        lines.push(current);
        [current, width] = ["", 0];
      }
      current += piece;
      width += widthOf(piece);
    }
  }
  lines.push(current.trimEnd());
  return closeColours(lines);
}

/** Colours stay whole. */
function breakWord(word: string, columns: number): readonly string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
  // oxlint-disable-next-line no-control-regex -- our own colours
  const parts = word.split(/(\u001B\[[0-9;]*m)/u);
  return parts.flatMap((part) =>
    part.startsWith("\u001B") || widthOf(part) <= 1
      ? [part]
      : [...segmenter.segment(part)].map(({ segment }) => (columns < 2 ? segment.slice(0, 1) : segment)),
  );
}

function closeColours(lines: readonly string[]): readonly string[] {
  if (!lines.some((line) => line.includes("\u001B"))) return lines;
  let open: readonly string[] = [];
  return lines.map((line) => {
    const begun = open.join("") + line;
    for (const [sequence] of line.matchAll(colours)) {
      open = /\[(?:0|22|23|24|29|39|49)?m$/u.test(sequence) ? open.slice(0, -1) : [...open, sequence];
    }
    return open.length === 0 ? begun : `${begun}\u001B[0m`;
  });
}
