import ts from "typescript";
import { isBoundedPattern, isShortFormat } from "../bounded-text.ts";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { codeFiles, isNamed, isTest } from "../source-tree.ts";
import {
  commentsOf,
  findingAt,
  isExplained,
  isStringLiteral,
  lineOfNode,
  nodesOf,
  parse,
  propertyOf,
} from "../syntax.ts";

const name = "bounded-schemas";

/** The bounds that each TypeBox builder requires, and the position of its options argument. */
const builders: Readonly<
  Record<string, { readonly optionsAt: number; missing(options: Options): string[] }>
> = {
  String: { optionsAt: 0, missing: missingForText },
  TemplateLiteral: { optionsAt: 1, missing: missingForText },
  Array: { optionsAt: 1, missing: (options) => missingFrom(options, [["maxItems"]]) },
  Number: { optionsAt: 0, missing: missingForNumber },
  Integer: { optionsAt: 0, missing: missingForNumber },
  BigInt: { optionsAt: 0, missing: missingForNumber },
  Record: { optionsAt: 2, missing: (options) => missingFrom(options, [["maxProperties"]]) },
};
/** Builders that accept anything, or text that this rule cannot analyse. */
const openBuilders = new Set(["Any", "Unknown", "Unsafe", "Script"]);

/** Every string, list, number and map in a request schema declares a bound. */
export const boundedSchemas: Rule = {
  name,
  find(files) {
    return codeFiles(files)
      .filter(({ path }) => isNamed(path, "schema.ts") || path.startsWith("packages/vault-contract/src/"))
      .filter(({ path }) => !isTest(path))
      .flatMap(findInFile);
  },
};

function findInFile(file: TextFile): Finding[] {
  const builderOf = typeBoxNames(file);
  const constants = objectConstants(file);
  const comments = commentsOf(file);
  return nodesOf(file)
    .filter(ts.isCallExpression)
    .flatMap((call) => {
      const builder = builderOf(call.expression);
      if (builder === undefined) return [];
      if (openBuilders.has(builder)) {
        if (isExplained(comments, lineOfNode(call))) return [];
        const message = `Explain in a comment why "${builder}" may accept anything, or declare the type`;
        return [findingAt(call, { rule: name, message })];
      }
      const needs = builders[builder];
      const missing = needs?.missing(optionsOf(call.arguments[needs.optionsAt], constants)) ?? [];
      const message = `Give ${builder} a bound: ${missing.join(" and ")}`;
      return missing.length === 0 ? [] : [findingAt(call, { rule: name, message })];
    });
}

/** Resolves a called expression to its builder: `Type.String`, `String` imported by name, or an alias. */
function typeBoxNames(file: TextFile): (callee: ts.Expression) => string | undefined {
  const namespaces = new Set<string>();
  const builderNames = new Map<string, string>();
  for (const statement of parse(file).statements) {
    if (!ts.isImportDeclaration(statement) || !isTypeBox(statement.moduleSpecifier)) continue;
    const clause = statement.importClause;
    if (clause?.name !== undefined) namespaces.add(clause.name.text);
    const bindings = clause?.namedBindings;
    if (bindings === undefined) continue;
    if (ts.isNamespaceImport(bindings)) namespaces.add(bindings.name.text);
    else {
      for (const element of bindings.elements) {
        const imported = (element.propertyName ?? element.name).text;
        if (imported === "Type" || imported === "default") namespaces.add(element.name.text);
        else builderNames.set(element.name.text, imported);
      }
    }
  }
  return (callee) => {
    if (ts.isIdentifier(callee)) return builderNames.get(callee.text);
    if (!ts.isPropertyAccessExpression(callee)) return undefined;
    const { expression } = callee;
    const namespace = ts.isPropertyAccessExpression(expression) ? expression.expression : expression;
    return ts.isIdentifier(namespace) && namespaces.has(namespace.text) ? callee.name.text : undefined;
  };
}

function isTypeBox(specifier: ts.Expression): boolean {
  return isStringLiteral(specifier) && /^(?:typebox|@sinclair\/typebox)(?:\/|$)/u.test(specifier.text);
}

type Options = ReadonlyMap<string, ts.Expression>;
type Constants = ReadonlyMap<string, ts.ObjectLiteralExpression>;

function objectConstants(file: TextFile): Constants {
  const constants = new Map<string, ts.ObjectLiteralExpression>();
  for (const node of nodesOf(file)) {
    if (!ts.isVariableDeclaration(node) || node.initializer === undefined) continue;
    const bare = ts.isAsExpression(node.initializer) ? node.initializer.expression : node.initializer;
    if (ts.isObjectLiteralExpression(bare)) constants.set(node.name.getText(), bare);
  }
  return constants;
}

/** The options as written: a literal, a constant of the same file, or a literal that spreads one. */
function optionsOf(node: ts.Node | undefined, constants: Constants): Options {
  if (node === undefined) return new Map();
  if (ts.isIdentifier(node)) {
    const constant = constants.get(node.text);
    return constant === undefined ? new Map() : optionsOf(constant, new Map());
  }
  if (!ts.isObjectLiteralExpression(node)) return new Map();
  return new Map(
    node.properties.flatMap((property): [string, ts.Expression][] => {
      if (ts.isSpreadAssignment(property)) return [...optionsOf(property.expression, constants)];
      const key = property.name.getText().replaceAll(/["']/gu, "");
      const value = propertyOf(node, key);
      return value === undefined ? [] : [[key, value]];
    }),
  );
}

/** Each inner list contains alternatives; one of them is enough. */
function missingFrom(options: Options, needed: readonly (readonly string[])[]): string[] {
  return needed.flatMap((choices) =>
    choices.some((choice) => options.has(choice)) ? [] : choices.slice(0, 1),
  );
}

function missingForNumber(options: Options): string[] {
  if (options.has("enum") || options.has("const")) return [];
  return missingFrom(options, [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ]);
}

function missingForText(options: Options): string[] {
  const format = options.get("format");
  const pattern = options.get("pattern");
  if (isStringLiteral(format) && isShortFormat(format.text)) return [];
  if (isStringLiteral(pattern) && isBoundedPattern(pattern.text)) return [];
  return missingFrom(options, [["maxLength", "enum", "const"]]);
}
