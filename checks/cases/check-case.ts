/**
 * @module
 * For every check, a small tree that violates it and one that does not, as text.
 * `every-check-fires.integration.test.ts` writes them to a temporary folder and runs the check on both.
 * Imported by the files of checks/ only.
 */

/** File contents by path. A multi-line text starts on the line after its opening backtick. */
export type Tree = Readonly<Record<string, string>>;

export type CheckCase = {
  /** Files that are the same in both trees. */
  readonly shared?: Tree;
  readonly broken: Tree;
  readonly valid: Tree;
  /** Expected findings in the broken tree, as `path:line`; a line with two findings is listed twice. */
  readonly expected: readonly string[];
};
