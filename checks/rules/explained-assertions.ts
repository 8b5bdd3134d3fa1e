import ts from "typescript";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { typeScriptFiles } from "../source-tree.ts";
import { commentsOf, isExplained, lastLineOfNode, lineOfNode, nodesOf } from "../syntax.ts";

const name = "explained-assertions";

/** Every type assertion has a comment, on its line or the one above, that justifies it. */
export const explainedAssertions: Rule = {
  name,
  find(files) {
    return typeScriptFiles(files).flatMap(findInFile);
  },
};

function findInFile(file: TextFile): Finding[] {
  const assertions = nodesOf(file).filter((node) => assertionIn(node) !== undefined);
  if (assertions.length === 0) return [];
  const comments = commentsOf(file);
  const unexplained = assertions.filter(
    (node) => !isExplained(comments, lineOfNode(node)) && !isExplained(comments, lastLineOfNode(node)),
  );
  const byLine = new Map(unexplained.map((node) => [lastLineOfNode(node), assertionIn(node)]));
  return [...byLine].map(([line, how]) => ({
    path: file.path,
    line,
    rule: name,
    message: `Explain in a comment why "${how}" is safe here, or avoid it`,
  }));
}

function assertionIn(node: ts.Node): string | undefined {
  if (ts.isAsExpression(node) || ts.isTypeAssertionExpression(node)) {
    return ts.isConstTypeReference(node.type) ? undefined : "as";
  }
  if (ts.isNonNullExpression(node)) return "!";
  const isAsserted =
    (ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) && node.exclamationToken;
  return isAsserted ? "!" : undefined;
}
