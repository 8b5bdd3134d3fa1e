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
export function descendants(node: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (each: ts.Node): void => {
    found.push(each);
    ts.forEachChild(each, visit);
  };
  visit(node);
  return found;
}

const listed = new WeakMap<TextFile, readonly ts.Node[]>();

/** All nodes of a file, listed once and shared by all rules, which would otherwise spend most of their time on it. */
export function nodesOf(file: TextFile): readonly ts.Node[] {
  const nodes = listed.get(file) ?? descendants(parse(file));
  listed.set(file, nodes);
  return nodes;
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

function tokensOf(node: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (each: ts.Node): void => {
    const children = each.getChildren();
    // JSX text is not code, so text that resembles a comment is not one.
    if (children.length === 0 && each.kind !== ts.SyntaxKind.JsxText) found.push(each);
    for (const child of children) {
      if (child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode) visit(child);
    }
  };
  visit(node);
  return found;
}
