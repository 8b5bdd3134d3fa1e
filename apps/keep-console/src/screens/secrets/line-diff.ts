export type DiffLine = { readonly kind: "same" | "removed" | "added"; readonly text: string };

/** Beyond it the middle is shown as taken out and put in, instead of making the browser think for long. */
const mostCells = 4_000_000;

/** What of one text is in the other, line by line. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const one = before.split("\n");
  const other = after.split("\n");
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end))
    end += 1;
  const middle = compare(one.slice(start, one.length - end), other.slice(start, other.length - end));
  return [...lines("same", one.slice(0, start)), ...middle, ...lines("same", one.slice(one.length - end))];
}

function lines(kind: DiffLine["kind"], texts: readonly string[]): readonly DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** By the longest lines they have in common, in order. */
function compare(one: readonly string[], other: readonly string[]): readonly DiffLine[] {
  if (one.length * other.length > mostCells) return [...lines("removed", one), ...lines("added", other)];
  const common = countCommon(one, other);
  const found: DiffLine[] = [];
  let [at, beside] = [0, 0];
  while (at < one.length && beside < other.length) {
    if (one[at] === other[beside]) {
      found.push({ kind: "same", text: one[at] ?? "" });
      at += 1;
      beside += 1;
    } else if (common(at + 1, beside) >= common(at, beside + 1)) {
      found.push({ kind: "removed", text: one[at] ?? "" });
      at += 1;
    } else {
      found.push({ kind: "added", text: other[beside] ?? "" });
      beside += 1;
    }
  }
  return [...found, ...lines("removed", one.slice(at)), ...lines("added", other.slice(beside))];
}

/** How many lines the rests of both have in common, from these lines on. */
function countCommon(
  one: readonly string[],
  other: readonly string[],
): (at: number, beside: number) => number {
  const width = other.length + 1;
  const counts = new Uint16Array((one.length + 1) * width);
  for (let at = one.length - 1; at >= 0; at -= 1) {
    for (let beside = other.length - 1; beside >= 0; beside -= 1) {
      counts[at * width + beside] =
        one[at] === other[beside]
          ? (counts[(at + 1) * width + beside + 1] ?? 0) + 1
          : Math.max(counts[(at + 1) * width + beside] ?? 0, counts[at * width + beside + 1] ?? 0);
    }
  }
  return (at, beside) => counts[at * width + beside] ?? 0;
}
