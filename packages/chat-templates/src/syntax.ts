import { parse, tokenize } from "@huggingface/jinja";
import { toByteText } from "./byte-text.ts";
import { TemplateError } from "./template-error.ts";

/** The syntax tree of the parser. */
export type Statement =
  | { readonly type: "If"; readonly test: Expression; readonly body: Body; readonly alternate: Body }
  | ForStatement
  | {
      readonly type: "Set";
      readonly assignee: Expression;
      readonly value: Expression | null;
      readonly body: Body;
    }
  | {
      readonly type: "Macro";
      readonly name: Identifier;
      readonly args: readonly Expression[];
      readonly body: Body;
    }
  | CallStatement
  | { readonly type: "FilterStatement"; readonly filter: Filter; readonly body: Body }
  | { readonly type: "Break" | "Continue" | "Comment" }
  | Expression;

export type Expression =
  | Identifier
  | CallExpression
  | { readonly type: "IntegerLiteral" | "FloatLiteral"; readonly value: number }
  | { readonly type: "StringLiteral"; readonly value: string }
  | { readonly type: "ArrayLiteral" | "TupleLiteral"; readonly value: readonly Expression[] }
  | { readonly type: "ObjectLiteral"; readonly value: ReadonlyMap<Expression, Expression> }
  | BinaryExpression
  | MemberExpression
  | SliceExpression
  | { readonly type: "UnaryExpression"; readonly operator: Operator; readonly argument: Expression }
  | { readonly type: "FilterExpression"; readonly operand: Expression; readonly filter: Filter }
  | TestExpression
  | { readonly type: "SelectExpression"; readonly lhs: Expression; readonly test: Expression }
  | TernaryExpression
  | { readonly type: "KeywordArgumentExpression"; readonly key: Identifier; readonly value: Expression }
  | { readonly type: "SpreadExpression" | "KeywordSpreadExpression"; readonly argument: Expression };

export type Body = readonly Statement[];
type Identifier = { readonly type: "Identifier"; readonly value: string };
type Filter = Identifier | CallExpression;
export type CallExpression = {
  readonly type: "CallExpression";
  readonly callee: Expression;
  readonly args: readonly Expression[];
};
export type ForStatement = {
  readonly type: "For";
  readonly loopvar: Expression;
  readonly iterable: Expression;
  readonly body: Body;
  readonly defaultBlock: Body;
};
export type CallStatement = {
  readonly type: "CallStatement";
  readonly call: CallExpression;
  readonly callerArgs: readonly Expression[] | null;
  readonly body: Body;
};
export type BinaryExpression = {
  readonly type: "BinaryExpression";
  readonly operator: Operator;
  readonly left: Expression;
  readonly right: Expression;
};
export type MemberExpression = {
  readonly type: "MemberExpression";
  readonly object: Expression;
  readonly property: Expression;
  readonly computed: boolean;
};
export type SliceExpression = {
  readonly type: "SliceExpression";
  readonly start?: Expression;
  readonly stop?: Expression;
  readonly step?: Expression;
};
type TestExpression = {
  readonly type: "TestExpression";
  readonly operand: Expression;
  readonly negate: boolean;
  readonly test: Identifier;
};
type TernaryExpression = {
  readonly type: "Ternary";
  readonly condition: Expression;
  readonly trueExpr: Expression;
  readonly falseExpr: Expression;
};
type Operator = { readonly value: string };
type Token = { readonly type: string; readonly value: string };

const statementTypes = new Set([
  "If",
  "For",
  "Set",
  "Macro",
  "CallStatement",
  "FilterStatement",
  "Break",
  "Continue",
  "Comment",
]);

export function isExpression(statement: Statement): statement is Expression {
  return !statementTypes.has(statement.type);
}

/** The parser does not support arguments of tests, so `x is name(…)` is rewritten to a filter of this name. */
export const testWithArguments = /^is (?<not>not )?(?<name>\w+)$/u;

export function parseTemplate(source: string): Body {
  try {
    const unified = source.replaceAll(/\r\n?/gu, "\n");
    // The package's types do not resolve, so its tokens have type `any`; this is their shape.
    const tokens = tokenize(unified, { lstrip_blocks: true, trim_blocks: true }) as readonly Token[];
    // The same applies to the syntax tree.
    const program = parse(rewriteTests(tokens.map(toBytes))) as { readonly body: Body };
    return program.body;
  } catch (cause) {
    // On invalid syntax the parser throws any error: its own, TypeError, or RangeError if nested too deeply.
    throw new TemplateError(`syntax error: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

function toBytes(token: Token): Token {
  const isText = token.type === "Text" || token.type === "StringLiteral";
  return isText ? { ...token, value: toByteText(token.value) } : token;
}

function rewriteTests(tokens: readonly Token[]): Token[] {
  const rewritten: Token[] = [];
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === undefined) break;
    const length = isIdentifier(token, "is") ? (isIdentifier(tokens[index + 1], "not") ? 3 : 2) : 0;
    const name = tokens[index + length - 1];
    if (length === 0 || name?.type !== "Identifier" || tokens[index + length]?.type !== "OpenParen") {
      rewritten.push(token);
      continue;
    }
    rewritten.push({ type: "Pipe", value: "|" });
    rewritten.push({ type: "Identifier", value: `is ${length === 3 ? "not " : ""}${name.value}` });
    index += length - 1;
  }
  return rewritten;
}

function isIdentifier(token: Token | undefined, name: string): boolean {
  return token?.type === "Identifier" && token.value === name;
}
