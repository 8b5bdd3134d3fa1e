import type { FieldError } from "../failures.ts";

/**
 * Patterns over secret paths. A pattern is a path in which the segment `*` matches exactly one segment and `**`, allowed
 * only at the end, matches one or more. Nothing else is special, so it is decidable whether some patterns cover another.
 */
const syntax = /^(?:\/(?:\*|[^/*]+))*(?:\/\*\*)?$/u;
const maxCharacters = 1024;

export function isPathPattern(text: string): boolean {
  return text.length > 1 && text.length <= maxCharacters && syntax.test(text);
}

/** Names each text in the request that is no pattern. Paths are stored in NFC, so a pattern in another form would match nothing. */
export function findPatternErrors(patterns: readonly string[], field: string): readonly FieldError[] {
  const reason = "must be a path pattern such as /prod/**, in Unicode form NFC";
  return patterns.flatMap((text, index) =>
    isPathPattern(text) && text.normalize("NFC") === text ? [] : [{ field: `${field}.${index}`, reason }],
  );
}

/** The segments of an absolute path or pattern; the root and the empty path have none. */
export function splitPath(path: string): readonly string[] {
  return path.length <= 1 ? [] : path.slice(1).split("/");
}

export type PathMatcher = (path: string) => boolean;

const matchers = new WeakMap<readonly string[], PathMatcher>();

/** True for paths that at least one of the patterns matches. A list is compiled once, for as long as it exists. */
export function pathMatcher(patterns: readonly string[]): PathMatcher {
  const known = matchers.get(patterns);
  if (known !== undefined) return known;
  const matcher = compile(patterns);
  matchers.set(patterns, matcher);
  return matcher;
}

/** Patterns that begin with the same segments share nodes, so a path is compared with all of them at once. */
type PatternNode = {
  /** By segment; `*` stands for any. */
  readonly children: Map<string, PatternNode>;
  /** A pattern ends here. */
  isEnd: boolean;
  /** A pattern ends here in `**`. */
  isRecursive: boolean;
};

function compile(patterns: readonly string[]): PathMatcher {
  const root = createNode();
  for (const pattern of patterns) addPattern(root, parsePattern(pattern));
  return (path) => {
    let nodes: readonly PatternNode[] = [root];
    for (const segment of splitPath(path)) {
      if (nodes.some(({ isRecursive }) => isRecursive)) return true;
      nodes = nodes.flatMap(({ children }) => [
        ...nodeAt(children, segment),
        ...(segment === "*" ? [] : nodeAt(children, "*")),
      ]);
    }
    return nodes.some(({ isEnd }) => isEnd);
  };
}

function createNode(): PatternNode {
  return { children: new Map(), isEnd: false, isRecursive: false };
}

function nodeAt(children: PatternNode["children"], segment: string): readonly PatternNode[] {
  const node = children.get(segment);
  return node === undefined ? [] : [node];
}

function addPattern(root: PatternNode, { prefix, isRecursive }: ParsedPattern): void {
  let node = root;
  for (const segment of prefix) {
    const next = node.children.get(segment) ?? createNode();
    node.children.set(segment, next);
    node = next;
  }
  if (isRecursive) node.isRecursive = true;
  else node.isEnd = true;
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
 * SQL that is true for paths that begin with one of the prefixes, or for all of them when the parameter is null. It
 * narrows down what the database returns; `pathMatcher` decides.
 */
export function prefixCondition(pathExpression: string, parameter: string): string {
  return `(${parameter}::text[] IS NULL OR ${pathExpression} ^@ ANY (${parameter}))`;
}

/** What each pattern's paths begin with, up to its first wildcard, without repetitions; null when that is nothing. */
export function pathPrefixes(patterns: readonly string[] | undefined): readonly string[] | null {
  if (patterns === undefined) return null;
  const prefixes = patterns.map((pattern) => {
    const wildcard = pattern.indexOf("/*");
    return wildcard === -1 ? pattern : pattern.slice(0, wildcard + 1);
  });
  const shortest: string[] = [];
  // Sorted, a prefix of others comes before them.
  for (const prefix of prefixes.toSorted()) {
    const last = shortest.at(-1);
    if (last === undefined || !prefix.startsWith(last)) shortest.push(prefix);
  }
  return shortest.includes("/") ? null : shortest;
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
