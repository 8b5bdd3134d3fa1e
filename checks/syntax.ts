import ts from "typescript";
import { type Finding, lineOf, type TextFile } from "./finding.ts";

export type FunctionNode = ts.FunctionLikeDeclaration & { readonly body: ts.Node };

const parsed = new WeakMap<TextFile, ts.SourceFile>();

/** The syntax tree of a file, parsed once and shared by all rules. */
export function parse(file: TextFile): ts.SourceFile {
  const cached = parsed.get(file);
  if (cached !== undefined) return cached;
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
  parsed.set(file, source);
  return source;
}

/** The node itself and everything below it, outermost first. */
export function* descendants(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => {
    children.push(child);
  });
  for (const child of children) yield* descendants(child);
}

export function nodesOf(file: TextFile): Generator<ts.Node> {
  return descendants(parse(file));
}

export function lineOfNode(node: ts.Node): number {
  const source = node.getSourceFile();
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

export function lastLineOfNode(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.end).line + 1;
}

export function findingAt(node: ts.Node, { rule, message }: Pick<Finding, "rule" | "message">): Finding {
  return { path: node.getSourceFile().fileName, line: lineOfNode(node), rule, message };
}

export type Comment = { readonly text: string; readonly line: number; readonly lastLine: number };

export function commentsOf(file: TextFile): readonly Comment[] {
  const starts = new Map<number, Comment>();
  for (const token of tokensOf(parse(file))) {
    const ranges = [
      ...(ts.getLeadingCommentRanges(file.text, token.pos) ?? []),
      ...(ts.getTrailingCommentRanges(file.text, token.pos) ?? []),
    ];
    for (const { pos, end } of ranges) {
      starts.set(pos, {
        text: file.text.slice(pos, end),
        line: lineOf(file.text, pos),
        lastLine: lineOf(file.text, end),
      });
    }
  }
  return [...starts.values()];
}

/** Whether there is a comment on the line, or one that ends on the line above. */
export function isExplained(comments: readonly Comment[], line: number): boolean {
  return comments.some((comment) => comment.line <= line && comment.lastLine >= line - 1);
}

export function isFunctionWithBody(node: ts.Node): node is FunctionNode {
  return ts.isFunctionLike(node) && "body" in node && node.body !== undefined;
}

export function isStringLiteral(node: ts.Node | undefined): node is ts.StringLiteralLike {
  return node !== undefined && ts.isStringLiteralLike(node);
}

/** The value of a key in an object literal; for a shorthand property, the identifier. */
export function propertyOf(literal: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  for (const property of literal.properties) {
    if (property.name === undefined || property.name.getText().replaceAll(/["'`]/gu, "") !== name) continue;
    if (ts.isPropertyAssignment(property)) return property.initializer;
    if (ts.isShorthandPropertyAssignment(property)) return property.name;
  }
  return undefined;
}

function* tokensOf(node: ts.Node): Generator<ts.Node> {
  const children = node.getChildren();
  // JSX text is not code, so text that resembles a comment is not one.
  if (children.length === 0 && node.kind !== ts.SyntaxKind.JsxText) yield node;
  for (const child of children) {
    if (child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode)
      yield* tokensOf(child);
  }
}
