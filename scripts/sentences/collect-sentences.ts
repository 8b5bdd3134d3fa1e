import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";

export type Sentence = { readonly path: string; readonly line: number; readonly text: string };

const root = resolve(import.meta.dirname, "../..");
const testCode = /\.test\.tsx?$|\/(?:test|fixtures|fake-engine)\//u;
/** Attributes and properties whose strings are for machines. */
const machineNames = new Set(["className", "class", "d", "viewBox", "style", "href", "src", "rel", "type"]);
/** Attributes and properties that are user-visible even when they hold a single word. */
const labelNames = /^(?:alt|aria-label|description|heading|hint|label|placeholder|summary|title)$/u;
const sql = /^\s*(?:select|insert|update|delete|with|create|alter|set|begin|commit|lock|notify|listen)\b/iu;

/** All user-visible text in these files, in source order. */
export function collectSentences(patterns: readonly string[]): readonly Sentence[] {
  const paths = [...new Set(globSync([...patterns], { cwd: root }))].toSorted();
  return paths
    .filter((path) => !testCode.test(path))
    .flatMap((path) => sentencesOf(path, readFileSync(resolve(root, path), "utf8")));
}

export function sentencesOf(path: string, text: string): readonly Sentence[] {
  if (path.endsWith(".html"))
    return [...text.matchAll(/>([^<>]*\S[^<>]*)</gu)].map(([, found = ""]) => ({
      path,
      line: 1,
      text: found.trim(),
    }));
  const source = ts.createSourceFile(
    path,
    text,
    ts.ScriptTarget.Latest,
    true,
    path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  const sentences: Sentence[] = [];
  const visit = (node: ts.Node): void => {
    const found = sentenceOf(node);
    if (found !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      sentences.push({ path, line: line + 1, text: found.replaceAll(/\s+/gu, " ").trim() });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return sentences;
}

function sentenceOf(node: ts.Node): string | undefined {
  if (ts.isJsxText(node)) return /\p{L}/u.test(node.text) ? node.text : undefined;
  if (ts.isTemplateExpression(node)) return readable(node, node.getText().slice(1, -1));
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return readable(node, node.text);
  return undefined;
}

/** Text with two consecutive words, or any text of a label attribute. */
function readable(node: ts.Node, text: string): string | undefined {
  if (isForMachines(node) || sql.test(text)) return undefined;
  const isLabel = labelNames.test(nameOf(node.parent));
  return /\p{L}{2,}[^\p{L}]* [^\p{L}]*\p{L}+/u.test(text) || (isLabel && /\p{L}{2,}/u.test(text))
    ? text
    : undefined;
}

function isForMachines(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isLiteralTypeNode(parent))
    return true;
  if (ts.isTaggedTemplateExpression(parent)) return true;
  return machineNames.has(nameOf(parent));
}

function nameOf(node: ts.Node): string {
  return ts.isJsxAttribute(node) || ts.isPropertyAssignment(node) ? node.name.getText() : "";
}
