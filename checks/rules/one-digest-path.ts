import ts from "typescript";
import type { Finding, Rule } from "../finding.ts";
import { isTest, typeScriptFiles } from "../source-tree.ts";
import { descendants, findingAt, isFunctionWithBody, isStringLiteral, nodesOf } from "../syntax.ts";

const name = "one-digest-path";
const message =
  "Use the one function that converts a digest to a path; digests are untrusted and must be validated";

/** Registry URLs contain digests, and tests inspect the store from outside. */
const exempt = /\/models\/(?:registry|(?:.*\/)?test)\//u;

/** A single function of the model store converts digests to paths, so that validation happens in one place. */
export const oneDigestPath: Rule = {
  name,
  find(files) {
    const nodes = typeScriptFiles(files)
      .filter(({ path }) => path.startsWith("apps/hearth/src/models/") && !exempt.test(path) && !isTest(path))
      .flatMap((file) => nodesOf(file).filter(buildsDigestPath));
    const byFunction = Map.groupBy(nodes, outermostFunction);
    return byFunction.size <= 1 ? [] : [...byFunction.keys()].map(report);
  },
};

function report(node: ts.Node): Finding {
  return findingAt(node, { rule: name, message });
}

function buildsDigestPath(node: ts.Node): boolean {
  if (ts.isCallExpression(node)) return joinsPath(node) && mentionsDigest(node);
  if (ts.isTemplateExpression(node))
    return isPathText(literalText(node)) && mentionsDigest(node) && !isAddress(node);
  return isConcatenation(node) && isPathText(literalText(node)) && mentionsDigest(node) && !isAddress(node);
}

/** `join(…)`, `path.join(…)`, `resolve(…)` and `[…].join("/")`, but not `Promise.resolve(…)` or a bare callback. */
function joinsPath({ expression, arguments: values }: ts.CallExpression): boolean {
  if (ts.isIdentifier(expression)) {
    return expression.text === "join" || (expression.text === "resolve" && values.length > 1);
  }
  if (!ts.isPropertyAccessExpression(expression)) return false;
  const isPathMethod = expression.name.text === "join" || expression.name.text === "resolve";
  const owner = expression.expression;
  return (
    isPathMethod &&
    ((ts.isIdentifier(owner) && /path|posix/iu.test(owner.text)) || ts.isArrayLiteralExpression(owner))
  );
}

function mentionsDigest(node: ts.Node): boolean {
  return descendants(node).some(
    (child) =>
      (ts.isIdentifier(child) && /digest/iu.test(child.text)) ||
      (isStringLiteral(child) && /^\/?blobs\/?$/u.test(child.text)),
  );
}

/** Paths contain a slash and file names of the store a prefix; a message that quotes a digest has neither. */
function isPathText(text: string): boolean {
  return text.includes("/") || text.includes("sha256-");
}

function literalText(node: ts.Node): string {
  return descendants(node)
    .map((child) => (ts.isTemplateLiteralToken(child) || isStringLiteral(child) ? child.text : ""))
    .join("");
}

/** The outermost `a + b + c`, once. */
function isConcatenation(node: ts.Node): boolean {
  return isSum(node) && !isSum(node.parent);
}

function isSum(node: ts.Node): boolean {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;
}

/** A URL on a server, which may also contain a digest. */
function isAddress(node: ts.Node): boolean {
  const isInUrl = ts.isNewExpression(node.parent) && node.parent.expression.getText() === "URL";
  return isInUrl || /^(?:https?:|\/api\/)|\/v2\//u.test(literalText(node));
}

function outermostFunction(node: ts.Node): ts.Node {
  let outermost: ts.Node = node.getSourceFile();
  for (let current = node; current.parent !== undefined; current = current.parent) {
    if (isFunctionWithBody(current)) outermost = current;
  }
  return outermost;
}
