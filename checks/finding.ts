export type Finding = {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly rule: string;
  readonly message: string;
};

/** One file of the repository, or of a case laid out like it. Files that are not text have the text "". */
export type TextFile = { readonly path: string; readonly text: string };

/** A rule of ours: a pure function from the files of a tree to what is wrong with them. */
export type Rule = {
  readonly name: string;
  find(files: readonly TextFile[]): readonly Finding[];
};

/** Anything that can be run on a tree on disk: a rule of ours, an import rule, unused code. */
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
