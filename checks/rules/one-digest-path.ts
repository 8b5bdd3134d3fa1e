import ts from "typescript";
import type { Finding, Rule } from "../finding.ts";
import { isTest, typeScriptFiles } from "../source-tree.ts";
import { descendants, findingAt, isFunctionWithBody, isStringLiteral, nodesOf } from "../syntax.ts";

const name = "one-digest-path";
const message =
  "Ask the one function that turns a digest into a path; a digest comes from outside and may lie";

/** Registries are asked for addresses that hold digests, and tests look into the store from outside. */
const exempt = /\/models\/(?:registry|(?:.*\/)?test)\//u;

/** One function of the model store turns a digest into a path, so there is one place that validates it. */
export const oneDigestPath: Rule = {
  name,
  find(files) {
    const places = typeScriptFiles(files)
      .filter(({ path }) => path.startsWith("apps/hearth/src/models/") && !exempt.test(path) && !isTest(path))
      .flatMap((file) => [...nodesOf(file)].filter(buildsDigestPath));
    const byFunction = Map.groupBy(places, outermostFunction);
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
  return [...descendants(node)].some(
    (part) =>
      (ts.isIdentifier(part) && /digest/iu.test(part.text)) ||
      (isStringLiteral(part) && /^\/?blobs\/?$/u.test(part.text)),
  );
}

/** A message that quotes a digest has no slash around it; a path, or a file name of the store, does. */
function isPathText(text: string): boolean {
  return text.includes("/") || text.includes("sha256-");
}

function literalText(node: ts.Node): string {
  return [...descendants(node)]
    .map((part) => (ts.isTemplateLiteralToken(part) || isStringLiteral(part) ? part.text : ""))
    .join("");
}

/** The outermost `a + b + c`, once. */
function isConcatenation(node: ts.Node): boolean {
  return isSum(node) && !isSum(node.parent);
}

function isSum(node: ts.Node): boolean {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;
}

/** An address on a server, which has digests in it too. */
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
