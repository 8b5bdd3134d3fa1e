import { basename } from "node:path";
import ts from "typescript";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { codeFiles, isFixture } from "../source-tree.ts";
import { isStringLiteral, lineOfNode, nodesOf, propertyOf } from "../syntax.ts";
import { bannedVocabulary, conventionalNames } from "./banned-vocabulary.ts";

const name = "plain-names";

type CollectedName = {
  readonly kind: "path" | "export" | "setting" | "route";
  readonly text: string;
  readonly path: string;
  readonly line: number;
};

/** Names use established terms: paths, exports, settings and routes contain no banned word. */
export const plainNames: Rule = {
  name,
  find(files) {
    return collectNames(files).flatMap(findInName);
  },
};

/** Every name that the rule applies to; a claim prints their number as its denominator. */
export function collectNames(files: readonly TextFile[]): readonly CollectedName[] {
  const code = codeFiles(files);
  return [
    ...files.filter(({ path }) => !isFixture(path)).flatMap(pathNames),
    ...code.flatMap(exportNames),
    ...code.filter(({ path }) => isNamedLike(path, "config")).flatMap(settingNames),
    ...code.filter(({ path }) => isNamedLike(path, "routes")).flatMap(routeNames),
  ];
}

function findInName({ kind, text, path, line }: CollectedName): Finding[] {
  if (conventionalNames.has(text)) return [];
  const banned = wordsOf(text).find((word) => bannedVocabulary.has(word));
  if (banned === undefined) return [];
  const message = `Rename the ${kind} "${text}": "${banned}" is not an established term here`;
  return [{ path, line, rule: name, message }];
}

/** `readOnceAgain`, `read-once`, `READ_ONCE` → read, once, … */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/gu, " ")
    .split(/[^A-Za-z]+/u)
    .map((word) => word.toLowerCase())
    .filter((word) => word !== "");
}

/** Decision records keep the file names they were accepted under. */
function pathNames({ path }: TextFile): CollectedName[] {
  if (path.startsWith("docs/decisions/")) return [];
  return path.split("/").map((text) => ({ kind: "path", text, path, line: 1 }) as const);
}

function exportNames(file: TextFile): CollectedName[] {
  return nodesOf(file).flatMap((node) => {
    if (!isExported(node)) return [];
    const declared = ts.isVariableStatement(node) ? node.declarationList.declarations : [node];
    return declared.flatMap((each) => {
      const identifier = "name" in each ? each.name : undefined;
      if (identifier === undefined || !ts.isIdentifier(identifier)) return [];
      return [
        { kind: "export", text: identifier.text, path: file.path, line: lineOfNode(identifier) } as const,
      ];
    });
  });
}

function isExported(node: ts.Node): node is ts.VariableStatement | ts.DeclarationStatement {
  const canExport =
    ts.isVariableStatement(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isInterfaceDeclaration(node);
  return (
    canExport && (node.modifiers ?? []).some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)
  );
}

/** The keys of object literals in a config file are the names of settings. */
function settingNames(file: TextFile): CollectedName[] {
  return nodesOf(file).flatMap((node) => {
    if (!ts.isPropertyAssignment(node) || !ts.isCallExpression(node.initializer)) return [];
    const text = node.name.getText().replaceAll(/["'`]/gu, "");
    return [{ kind: "setting", text, path: file.path, line: lineOfNode(node) } as const];
  });
}

function routeNames(file: TextFile): CollectedName[] {
  return nodesOf(file).flatMap((node) => {
    if (!ts.isObjectLiteralExpression(node)) return [];
    const path = propertyOf(node, "path");
    if (!isStringLiteral(path)) return [];
    return [{ kind: "route", text: path.text, path: file.path, line: lineOfNode(path) } as const];
  });
}

function isNamedLike(path: string, stem: string): boolean {
  return basename(path).replace(/\.tsx?$/u, "") === stem || new RegExp(`-${stem}\\.ts$`, "u").test(path);
}
