import ts from "typescript";
import type { Rule, TextFile } from "../finding.ts";
import { codeFiles, isNamed } from "../source-tree.ts";
import { findingAt, isStringLiteral, nodesOf, parse, propertyOf } from "../syntax.ts";

const name = "environment-in-config";
const message = "Read the environment in config.ts and pass the value";

/** The environment is read in files named config.ts and nowhere else. */
export const environmentInConfig: Rule = {
  name,
  find(files) {
    return codeFiles(files)
      .filter(({ path }) => !isNamed(path, "config.ts"))
      .flatMap((file) => {
        const isProcess = processNames(file);
        return nodesOf(file)
          .filter((node) => readsEnvironment(node, isProcess))
          .map((node) => findingAt(node, { rule: name, message }));
      });
  },
};

type IsProcess = (node: ts.Node | undefined) => boolean;

/** `process`, `globalThis.process`, and every local name of an import of node:process. */
function processNames(file: TextFile): IsProcess {
  const names = new Set(["process"]);
  for (const statement of parse(file).statements) {
    if (!ts.isImportDeclaration(statement) || !isProcessModule(statement.moduleSpecifier)) continue;
    const clause = statement.importClause;
    if (clause?.name !== undefined) names.add(clause.name.text);
    if (clause?.namedBindings !== undefined && ts.isNamespaceImport(clause.namedBindings)) {
      names.add(clause.namedBindings.name.text);
    }
  }
  return (node) => {
    if (node === undefined) return false;
    if (ts.isIdentifier(node)) return names.has(node.text);
    if (ts.isPropertyAccessExpression(node)) return node.name.text === "process";
    return ts.isElementAccessExpression(node) && isNamedText(node.argumentExpression, "process");
  };
}

function readsEnvironment(node: ts.Node, isProcess: IsProcess): boolean {
  if (ts.isPropertyAccessExpression(node)) return node.name.text === "env" && isProcess(node.expression);
  if (ts.isElementAccessExpression(node)) {
    return isNamedText(node.argumentExpression, "env") && isProcess(node.expression);
  }
  if (ts.isVariableDeclaration(node)) return bindsEnvironment(node.name) && isProcess(node.initializer);
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    const { left, right } = node;
    return ts.isObjectLiteralExpression(left) && propertyOf(left, "env") !== undefined && isProcess(right);
  }
  if (ts.isImportDeclaration(node) && isProcessModule(node.moduleSpecifier)) {
    const bindings = node.importClause?.namedBindings;
    return bindings !== undefined && ts.isNamedImports(bindings) && bindings.elements.some(isEnvironment);
  }
  return false;
}

function isEnvironment(element: ts.ImportSpecifier | ts.BindingElement): boolean {
  return (element.propertyName ?? element.name).getText().replaceAll(/["']/gu, "") === "env";
}

function bindsEnvironment(pattern: ts.BindingName): boolean {
  return ts.isObjectBindingPattern(pattern) && pattern.elements.some(isEnvironment);
}

function isProcessModule(node: ts.Node): boolean {
  return isNamedText(node, "node:process") || isNamedText(node, "process");
}

function isNamedText(node: ts.Node, text: string): boolean {
  return isStringLiteral(node) && node.text === text;
}
