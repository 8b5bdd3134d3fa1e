import ts from "typescript";
import type { TextFile } from "./finding.ts";
import { descendants, isFunctionWithBody, isStringLiteral, parse, propertyOf } from "./syntax.ts";

export const seedVariable = "HEARTH_SEED";

export type IsSeeded = (environment: ts.Expression) => boolean;

/**
 * Decides whether an environment passed to a process sets the default seed. Names are resolved to their declarations
 * in scope, then to the functions and exported constants of all these files; unresolved names are unseeded.
 * `process.env` is seeded, because the test runner sets the variable in it.
 */
export function createSeedResolver(files: readonly TextFile[]): IsSeeded {
  const declarations = collectDeclarations(files);
  const visiting = new Set<ts.Node>();
  const isSeeded = (node: ts.Expression): boolean => {
    if (visiting.has(node)) return false;
    visiting.add(node);
    try {
      return decide(node);
    } finally {
      visiting.delete(node);
    }
  };
  const areSeeded = (values: readonly ts.Expression[]): boolean =>
    values.length > 0 && values.every(isSeeded);
  const valuesNamed = (name: string): readonly ts.Expression[] =>
    (declarations.get(name) ?? []).flatMap(valuesOf);
  const decide = (node: ts.Expression): boolean => {
    if (ts.isObjectLiteralExpression(node)) return isSeededObject(node, isSeeded);
    if (ts.isPropertyAccessExpression(node)) return node.getText() === "process.env";
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isAwaitExpression(node))
      return isSeeded(node.expression);
    if (ts.isCallExpression(node)) return areSeeded(valuesNamed(node.expression.getText()));
    if (!ts.isIdentifier(node)) return false;
    return areSeeded(valuesInScope(node) ?? valuesNamed(node.text));
  };
  return isSeeded;
}

/** A seed that is not random: a number without a sign. */
export function isSeedText(node: ts.Node | undefined): boolean {
  return isStringLiteral(node) && /^\d+$/u.test(node.text);
}

function isSeededObject(literal: ts.ObjectLiteralExpression, isSeeded: IsSeeded): boolean {
  const own = propertyOf(literal, seedVariable);
  if (own !== undefined) return isSeedText(own);
  return literal.properties.some(
    (property) => ts.isSpreadAssignment(property) && isSeeded(property.expression),
  );
}

type Declared = { readonly name: string; readonly node: ts.FunctionDeclaration | ts.VariableDeclaration };

/** Functions and exported constants by name; those of several files with the same name must all be seeded. */
function collectDeclarations(files: readonly TextFile[]): ReadonlyMap<string, readonly Declared[]> {
  const declared = files
    .flatMap((file) => [...parse(file).statements])
    .flatMap((statement): Declared[] => {
      if (ts.isFunctionDeclaration(statement)) return [{ name: statement.name?.text ?? "", node: statement }];
      if (!ts.isVariableStatement(statement) || !isExported(statement)) return [];
      return statement.declarationList.declarations.map((node) => ({ name: node.name.getText(), node }));
    });
  return Map.groupBy(declared, ({ name }) => name);
}

function isExported(statement: ts.VariableStatement): boolean {
  return (statement.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
}

/** The returned expressions of a function, or the initial value of a constant. */
function valuesOf({ node }: Declared): readonly ts.Expression[] {
  if (ts.isVariableDeclaration(node)) return node.initializer === undefined ? [] : [node.initializer];
  return descendants(node).flatMap((each) =>
    ts.isReturnStatement(each) && enclosingFunction(each) === node ? (each.expression ?? []) : [],
  );
}

function enclosingFunction(node: ts.Node): ts.Node | undefined {
  let current = node.parent;
  while (current !== undefined && !isFunctionWithBody(current)) current = current.parent;
  return current;
}

/**
 * The values of the innermost declaration of a name: all assigned values, otherwise its initial value, and nothing for
 * a parameter. Undefined when the file does not declare the name.
 */
function valuesInScope(identifier: ts.Identifier): readonly ts.Expression[] | undefined {
  for (let scope: ts.Node = identifier.parent; scope !== undefined; scope = scope.parent) {
    if (isFunctionWithBody(scope) && scope.parameters.some(({ name }) => binds(name, identifier.text)))
      return [];
    if (!ts.isBlock(scope) && !ts.isSourceFile(scope)) continue;
    const declaration = scope.statements
      .flatMap((each) => (ts.isVariableStatement(each) ? [...each.declarationList.declarations] : []))
      .find(({ name }) => binds(name, identifier.text));
    if (declaration === undefined) continue;
    if (!ts.isIdentifier(declaration.name)) return [];
    const assigned = assignedValues(scope, identifier.text);
    return assigned.length > 0 || declaration.initializer === undefined
      ? assigned
      : [declaration.initializer];
  }
  return undefined;
}

function binds(name: ts.BindingName, text: string): boolean {
  return descendants(name).some((node) => ts.isIdentifier(node) && node.text === text);
}

function assignedValues(scope: ts.Node, name: string): readonly ts.Expression[] {
  return descendants(scope).flatMap((node) =>
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isIdentifier(node.left) &&
    node.left.text === name
      ? node.right
      : [],
  );
}
