import type { Rule } from "../finding.ts";
import { codeFiles } from "../source-tree.ts";
import { commentsOf } from "../syntax.ts";

const name = "no-type-suppression";
const suppression = /@ts-(?:ignore|expect-error|nocheck)\b/u;

/** No comment switches the compiler off. */
export const noTypeSuppression: Rule = {
  name,
  find(files) {
    return codeFiles(files).flatMap((file) =>
      commentsOf(file).flatMap(({ text, line }) => {
        const found = suppression.exec(text)?.[0];
        if (found === undefined) return [];
        return [{ path: file.path, line, rule: name, message: `Satisfy the compiler instead of "${found}"` }];
      }),
    );
  },
};
