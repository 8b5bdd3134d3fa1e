export type Finding = {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly rule: string;
  readonly message: string;
};

/** One file of the repository, or of a case with the same layout. Binary files have the text "". */
export type TextFile = { readonly path: string; readonly text: string };

/** One of our own rules: a pure function from the files of a tree to findings. */
export type Rule = {
  readonly name: string;
  find(files: readonly TextFile[]): readonly Finding[];
};

/** A check that runs on a tree on disk: one of our own rules, an import rule, or the search for unused code. */
export type Check = {
  readonly name: string;
  /** The name of its case in checks/cases. */
  readonly case: string;
  find(folder: string): Promise<readonly Finding[]>;
};

export function describeFinding({ path, line, rule, message }: Finding): string {
  return `${path}:${line} ${message} (${rule})`;
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
