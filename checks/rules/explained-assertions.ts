import ts from "typescript";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { typeScriptFiles } from "../source-tree.ts";
import { commentsOf, isExplained, lastLineOfNode, lineOfNode, nodesOf } from "../syntax.ts";

const name = "explained-assertions";

/** Where the compiler is overruled, a comment on that line or the one above says why it may be. */
export const explainedAssertions: Rule = {
  name,
  find(files) {
    return typeScriptFiles(files).flatMap(findInFile);
  },
};

function findInFile(file: TextFile): Finding[] {
  const assertions = [...nodesOf(file)].filter((node) => overruledBy(node) !== undefined);
  if (assertions.length === 0) return [];
  const comments = commentsOf(file);
  const unexplained = assertions.filter(
    (node) => !isExplained(comments, lineOfNode(node)) && !isExplained(comments, lastLineOfNode(node)),
  );
  const byLine = new Map(unexplained.map((node) => [lastLineOfNode(node), overruledBy(node)]));
  return [...byLine].map(([line, how]) => ({
    path: file.path,
    line,
    rule: name,
    message: `Say in a comment why "${how}" is right here, or do without it`,
  }));
}

function overruledBy(node: ts.Node): string | undefined {
  if (ts.isAsExpression(node) || ts.isTypeAssertionExpression(node)) {
    return ts.isConstTypeReference(node.type) ? undefined : "as";
  }
  if (ts.isNonNullExpression(node)) return "!";
  const isPromised =
    (ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) && node.exclamationToken;
  return isPromised ? "!" : undefined;
}
