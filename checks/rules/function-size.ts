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
const maxLines = 60;

/** A function has at most 60 lines; the body of `describe` does not count. The linter limits parameters. */
export const functionSize: Rule = {
  name,
  find(files) {
    return codeFiles(files).flatMap((file) =>
      nodesOf(file).filter(isFunctionWithBody).flatMap(findInFunction),
    );
  },
};

function findInFunction(node: FunctionNode): Finding[] {
  const findings: Finding[] = [];
  const lines = lastLineOfNode(node) - lineOfNode(node) + 1;
  if (lines > maxLines && !isDescribe(node)) {
    const message = `Split the function: it has ${lines} lines, more than ${maxLines}`;
    findings.push(findingAt(node, { rule: name, message }));
  }
  return findings;
}

function isDescribe(node: ts.Node): boolean {
  return ts.isCallExpression(node.parent) && /^(?:describe|suite)\b/u.test(node.parent.expression.getText());
}
