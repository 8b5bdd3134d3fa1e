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
  if (child === undefined) return false;
  const outers = parent.map(segmentsOf);
  return child.every((inner) => reachTogether(outers, segmentsOf(inner), { steps: mostSteps }));
}

/** What could take longer than this to decide is taken for further than allowed. */
const mostSteps = 10_000;

/** Whether the outer ones, each a part of it perhaps, stand for everything that the inner stands for. */
function reachTogether(outers: readonly Segments[], inner: Segments, left: { steps: number }): boolean {
  left.steps -= outers.length + 1;
  if (outers.length === 0 || left.steps < 0) return false;
  const [other, ...others] = inner;
  if (other === undefined) return outers.some((outer) => outer.length === 0);
  if (outers.some(([first]) => first === "**")) return true;
  const isOpen = other === "*" || other === "**";
  // Any segment that no pattern names is like every other.
  const named = outers.flatMap(([first]) => (first === undefined || first === "*" ? [] : [first]));
  const choices = isOpen ? [...new Set(named), undefined] : [other];
  return choices.every((segment) => {
    const rests = outers
      .filter(([first]) => first === "*" || (first !== undefined && first === segment))
      .map(([, ...rest]) => rest);
    if (other !== "**") return reachTogether(rests, others, left);
    return reachTogether(rests, [], left) && reachTogether(rests, inner, left);
  });
}

type Segments = readonly string[];

function segmentsOf(path: string): Segments {
  return path.split("/").slice(1);
}

/** Everything that the inner stands for, the outer stands for too; a path is a pattern of itself. */
function reaches(outer: Segments, inner: Segments): boolean {
  const [first, ...rest] = outer;
  const [other, ...others] = inner;
  if (first === undefined) return other === undefined;
  if (other === undefined) return false;
  if (first === "**") return true;
  if (other === "**") return false;
  return (first === "*" || first === other) && reaches(rest, others);
}
