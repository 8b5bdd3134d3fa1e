import type { Finding, TextFile } from "./finding.ts";

export type TextPattern = {
  readonly rule: string;
  readonly pattern: RegExp;
  readonly message: (found: string) => string;
};

/** One finding for each line on which the pattern occurs. */
export function findInText(files: readonly TextFile[], { rule, pattern, message }: TextPattern): Finding[] {
  return files.flatMap(({ path, text }) =>
    pattern.test(text)
      ? text.split("\n").flatMap((content, index) => {
          const found = pattern.exec(content)?.[0];
          return found === undefined ? [] : [{ path, line: index + 1, rule, message: message(found) }];
        })
      : [],
  );
}
