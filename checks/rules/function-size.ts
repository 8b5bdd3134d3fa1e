import ts from "typescript";
import type { Finding, Rule } from "../finding.ts";
import { codeFiles } from "../source-tree.ts";
import {
  type FunctionNode,
  findingAt,
  isFunctionWithBody,
  lastLineOfNode,
  lineOfNode,
  nodesOf,
} from "../syntax.ts";

const name = "function-size";
const mostLines = 60;
const mostParameters = 3;

/** A function has at most 60 lines and three parameters; the body of `describe` is a chapter, not a function. */
export const functionSize: Rule = {
  name,
  find(files) {
    return codeFiles(files).flatMap((file) =>
      [...nodesOf(file)].filter(isFunctionWithBody).flatMap(findInFunction),
    );
  },
};

function findInFunction(node: FunctionNode): Finding[] {
  const findings: Finding[] = [];
  const lines = lastLineOfNode(node) - lineOfNode(node) + 1;
  if (lines > mostLines && !isChapter(node)) {
    const message = `Split the function: it has ${lines} lines, more than ${mostLines}`;
    findings.push(findingAt(node, { rule: name, message }));
  }
  const parameters = node.parameters.filter((parameter) => parameter.name.getText() !== "this").length;
  if (parameters > mostParameters) {
    const message = `Take an object: the function has ${parameters} parameters, more than ${mostParameters}`;
    findings.push(findingAt(node, { rule: name, message }));
  }
  return findings;
}

function isChapter(node: ts.Node): boolean {
  return ts.isCallExpression(node.parent) && /^(?:describe|suite)\b/u.test(node.parent.expression.getText());
}
