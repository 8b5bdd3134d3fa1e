/**
 * Patterns of secrets' paths, simple enough that it can always be decided whether one reaches further than another:
 * segments with `/` before each; `*` stands for any one segment, `**` as the last for one or more.
 */
const pattern = /^(?:\/(?:\*|[^/*]+))*(?:\/\*\*)?$/u;
const mostCharacters = 1024;

export function isPathPattern(text: string): boolean {
  return text.length > 1 && text.length <= mostCharacters && pattern.test(text);
}

export function isWithin(outer: string, path: string): boolean {
  return reaches(segmentsOf(outer), segmentsOf(path));
}

export function pathsCover(
  parent: readonly string[] | undefined,
  child: readonly string[] | undefined,
): boolean {
  if (parent === undefined) return true;
  return child !== undefined && child.every((inner) => parent.some((outer) => isWithin(outer, inner)));
}

function segmentsOf(path: string): readonly string[] {
  return path.split("/").slice(1);
}

/** Everything that the inner stands for, the outer stands for too; a path is a pattern of itself. */
function reaches(outer: readonly string[], inner: readonly string[]): boolean {
  const [first, ...rest] = outer;
  const [other, ...others] = inner;
  if (first === undefined) return other === undefined;
  if (other === undefined) return false;
  if (first === "**") return true;
  if (other === "**") return false;
  return (first === "*" || first === other) && reaches(rest, others);
}
