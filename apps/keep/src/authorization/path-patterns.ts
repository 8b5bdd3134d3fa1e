/**
 * Patterns over secret paths. A pattern is a path in which the segment `*` matches exactly one segment and `**`, allowed
 * only at the end, matches one or more. Nothing else is special, so it is decidable whether some patterns cover another.
 */
const syntax = /^(?:\/(?:\*|[^/*]+))*(?:\/\*\*)?$/u;
const maxCharacters = 1024;

export function isPathPattern(text: string): boolean {
  return text.length > 1 && text.length <= maxCharacters && syntax.test(text);
}

/** The segments of an absolute path or pattern; the root has none. */
export function splitPath(path: string): readonly string[] {
  return path === "/" ? [] : path.slice(1).split("/");
}

export function matchesPath(pattern: string, path: string): boolean {
  const { prefix, isRecursive } = parsePattern(pattern);
  const segments = splitPath(path);
  const hasLength = isRecursive ? segments.length > prefix.length : segments.length === prefix.length;
  return (
    hasLength && prefix.every((patternSegment, index) => matchesSegment(patternSegment, segments[index]))
  );
}

/** Whether the pattern matches some path below the folder. */
export function matchesBelow(pattern: string, folder: string): boolean {
  const { prefix, isRecursive } = parsePattern(pattern);
  const segments = splitPath(folder);
  const isDeeper = isRecursive || prefix.length > segments.length;
  return (
    isDeeper &&
    prefix
      .slice(0, segments.length)
      .every((patternSegment, index) => matchesSegment(patternSegment, segments[index]))
  );
}

/**
 * SQL that is true for the paths matched by one of the patterns, or for all of them when the parameter is null. The
 * parameter takes the result of `toSqlPatterns`. Both sides mean the same as `matchesPath`.
 */
export function pathCondition(pathExpression: string, parameter: string): string {
  return `(${parameter}::text[] IS NULL OR ${pathExpression} ~ ANY (${parameter}))`;
}

/** The patterns as POSIX regular expressions of PostgreSQL; null without patterns. */
export function toSqlPatterns(patterns: readonly string[] | undefined): readonly string[] | null {
  if (patterns === undefined) return null;
  return patterns.map((pattern) => {
    const { prefix, isRecursive } = parsePattern(pattern);
    const segments = prefix.map((segment) => (segment === "*" ? "/[^/]+" : `/${escapeSqlPattern(segment)}`));
    return `^${segments.join("")}${isRecursive ? "/.+" : ""}$`;
  });
}

/** Whether the parent patterns, possibly only together, match every path that the child patterns match. */
export function patternsCover(
  parent: readonly string[] | undefined,
  child: readonly string[] | undefined,
): boolean {
  if (parent === undefined) return true;
  if (child === undefined) return false;
  const outers = parent.map(splitPath);
  return child.every((inner) => coverTogether(outers, splitPath(inner), { steps: maxSteps }));
}

type ParsedPattern = {
  /** The segments before a final `**`. */
  readonly prefix: readonly string[];
  readonly isRecursive: boolean;
};

function parsePattern(pattern: string): ParsedPattern {
  const segments = splitPath(pattern);
  const isRecursive = segments.at(-1) === "**";
  return { prefix: isRecursive ? segments.slice(0, -1) : segments, isRecursive };
}

function matchesSegment(patternSegment: string, segment: string | undefined): boolean {
  return patternSegment === "*" || patternSegment === segment;
}

/** A backslash before ASCII punctuation makes it literal in PostgreSQL's regular expressions. */
function escapeSqlPattern(segment: string): string {
  return segment.replaceAll(/[!-/:-@[-`{-~]/gu, String.raw`\$&`);
}

type Segments = readonly string[];

/** A decision that takes more steps counts as not covered. */
const maxSteps = 10_000;

function coverTogether(outers: readonly Segments[], inner: Segments, left: { steps: number }): boolean {
  left.steps -= outers.length + 1;
  if (outers.length === 0 || left.steps < 0) return false;
  const [next, ...rest] = inner;
  if (next === undefined) return outers.some((outer) => outer.length === 0);
  if (outers.some(([first]) => first === "**")) return true;
  const isWildcard = next === "*" || next === "**";
  // Segments that no outer pattern names behave alike, so `undefined` stands for all of them.
  const named = outers.flatMap(([first]) => (first === undefined || first === "*" ? [] : [first]));
  const choices = isWildcard ? [...new Set(named), undefined] : [next];
  return choices.every((segment) => {
    const remaining = outers
      .filter(([first]) => first === "*" || (first !== undefined && first === segment))
      .map(([, ...others]) => others);
    if (next !== "**") return coverTogether(remaining, rest, left);
    return coverTogether(remaining, [], left) && coverTogether(remaining, inner, left);
  });
}
