import ts from "typescript";
import type { Rule } from "../finding.ts";
import { codeFiles } from "../source-tree.ts";
import { findingAt, nodesOf } from "../syntax.ts";

const name = "variable-names";
const shortForms = new Set("req res ctx msg opts cfg tmp data info".split(" "));

/** Parameters and variables are not abbreviated; properties of external types are exempt. */
export const variableNames: Rule = {
  name,
  find(files) {
    return codeFiles(files).flatMap((file) =>
      nodesOf(file)
        .filter((node) => ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node))
        .filter((node) => ts.isIdentifier(node.name) && shortForms.has(node.name.text))
        .map(({ name: identifier }) =>
          findingAt(identifier, { rule: name, message: `Do not abbreviate "${identifier.getText()}"` }),
        ),
    );
  },
};
