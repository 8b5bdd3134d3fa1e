import ts from "typescript";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { codeFiles, isTest } from "../source-tree.ts";
import { commentsOf, findingAt, isExplained, lineOfNode, nodesOf, propertyOf } from "../syntax.ts";

const name = "no-hidden-tests";
const runners = new Set("test it describe suite bench context".split(" "));
const modifiers = ["only", "skip", "todo", "skipIf", "runIf", "fails"];

/** A test that is skipped, or that causes others to be skipped, has a comment that explains why. */
export const noHiddenTests: Rule = {
  name,
  find(files) {
    return codeFiles(files)
      .filter(({ path }) => isTest(path))
      .flatMap(findInTest);
  },
};

function findInTest(file: TextFile): Finding[] {
  const hidden = nodesOf(file).flatMap((node) => {
    const how = modifierOf(node);
    return how === undefined ? [] : [{ node, how }];
  });
  if (hidden.length === 0) return [];
  const comments = commentsOf(file);
  return hidden
    .filter(({ node }) => !isExplained(comments, lineOfNode(node)))
    .map(({ node, how }) =>
      findingAt(node, { rule: name, message: `Explain in a comment why "${how}" is used` }),
    );
}

/** Both forms: `test.skip(…)` and `test("…", { skip: true }, …)`. */
function modifierOf(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    return modifiers.includes(node.name.text) && isRunner(node.expression) ? node.name.text : undefined;
  }
  if (!ts.isCallExpression(node) || !isRunner(node.expression)) return undefined;
  const settings = node.arguments.filter((argument) => ts.isObjectLiteralExpression(argument));
  return modifiers.find((modifier) =>
    settings.some((setting) => propertyOf(setting, modifier) !== undefined),
  );
}

function isRunner(node: ts.Expression): boolean {
  if (ts.isIdentifier(node)) return runners.has(node.text);
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return isRunner(node.expression);
  return false;
}
