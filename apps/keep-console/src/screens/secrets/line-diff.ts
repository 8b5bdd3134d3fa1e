export type DiffLine = { readonly kind: "same" | "removed" | "added"; readonly text: string };

/** Limit of the comparison table; larger inputs are shown as fully removed and added, to keep the browser responsive. */
const maxCells = 4_000_000;

/** Line diff: common prefix and suffix, and a longest common subsequence of the lines in between. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const one = before.split("\n");
  const other = after.split("\n");
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end))
    end += 1;
  const middle = diffMiddle(one.slice(start, one.length - end), other.slice(start, other.length - end));
  return [...lines("same", one.slice(0, start)), ...middle, ...lines("same", one.slice(one.length - end))];
}

function lines(kind: DiffLine["kind"], texts: readonly string[]): readonly DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

function diffMiddle(one: readonly string[], other: readonly string[]): readonly DiffLine[] {
  if (one.length * other.length > maxCells) return [...lines("removed", one), ...lines("added", other)];
  const lcsLength = suffixLcsLengths(one, other);
  const found: DiffLine[] = [];
  let [index, otherIndex] = [0, 0];
  while (index < one.length && otherIndex < other.length) {
    if (one[index] === other[otherIndex]) {
      found.push({ kind: "same", text: one[index] ?? "" });
      index += 1;
      otherIndex += 1;
    } else if (lcsLength(index + 1, otherIndex) >= lcsLength(index, otherIndex + 1)) {
      found.push({ kind: "removed", text: one[index] ?? "" });
      index += 1;
    } else {
      found.push({ kind: "added", text: other[otherIndex] ?? "" });
      otherIndex += 1;
    }
  }
  return [...found, ...lines("removed", one.slice(index)), ...lines("added", other.slice(otherIndex))];
}

/** Lengths of the longest common subsequences of all suffix pairs. */
function suffixLcsLengths(
  one: readonly string[],
  other: readonly string[],
): (index: number, otherIndex: number) => number {
  const width = other.length + 1;
  const counts = new Uint16Array((one.length + 1) * width);
  for (let index = one.length - 1; index >= 0; index -= 1) {
    for (let otherIndex = other.length - 1; otherIndex >= 0; otherIndex -= 1) {
      counts[index * width + otherIndex] =
        one[index] === other[otherIndex]
          ? (counts[(index + 1) * width + otherIndex + 1] ?? 0) + 1
          : Math.max(
              counts[(index + 1) * width + otherIndex] ?? 0,
              counts[index * width + otherIndex + 1] ?? 0,
            );
    }
  }
  return (index, otherIndex) => counts[index * width + otherIndex] ?? 0;
}
