import ts from "typescript";
import type { Rule } from "../finding.ts";
import { typeScriptFiles } from "../source-tree.ts";
import { findingAt, nodesOf } from "../syntax.ts";

const name = "no-any";

/** The type `any` appears nowhere, not even with an excuse. */
export const noAny: Rule = {
  name,
  find(files) {
    return typeScriptFiles(files).flatMap((file) =>
      [...nodesOf(file)]
        .filter((node) => node.kind === ts.SyntaxKind.AnyKeyword)
        .map((node) =>
          findingAt(node, { rule: name, message: 'Write the type, or "unknown" and narrow it' }),
        ),
    );
  },
};
