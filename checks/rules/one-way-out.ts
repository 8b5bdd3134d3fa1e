import ts from "typescript";
import type { Rule, TextFile } from "../finding.ts";
import { codeFiles, isTest } from "../source-tree.ts";
import { findingAt, isStringLiteral, nodesOf } from "../syntax.ts";

const name = "one-way-out";
const message = "Call other machines through packages/outbound-http, which checks every address";

const shipped = /^(?:apps|packages)\//u;
/**
 * The way out itself, what no user installs, and pages, whose browser decides where they may go. And the way to
 * engines: their addresses are our own sockets or the operator's settings, on private networks more often than not.
 */
const exempt =
  /^packages\/(?:outbound-http|test-servers|figures|upstream-engine\/src\/wire)\/|^apps\/(?:hearth-web|keep-console)\/|\/test\/|^packages\/upstream-engine\/src\/pool\/discovery\.ts$/u;
const modules =
  /^(?:node:)?(?:http|https|http2|net|tls|dgram|dns|dns\/promises)$|^(?:undici|axios|got|node-fetch|ws)$/u;
/** What of these modules calls nobody. */
const harmless = new Set(
  "isIP isIPv4 isIPv6 BlockList SocketAddress createServer STATUS_CODES METHODS".split(" "),
);
const callers = new Set(["fetch", "WebSocket", "EventSource", "XMLHttpRequest"]);
const loaders = new Set(["require", "getBuiltinModule"]);
const globals = new Set(["globalThis", "global", "window", "self"]);

/** No code that we ship opens a connection to another machine by itself. */
export const oneWayOut: Rule = {
  name,
  find(files) {
    return codeFiles(files)
      .filter(({ path }) => shipped.test(path) && !exempt.test(path) && !isTest(path))
      .flatMap(findInFile);
  },
};

function findInFile(file: TextFile): ReturnType<Rule["find"]> {
  return [...nodesOf(file)]
    .filter((node) => importsClient(node) || loadsModule(node) || isCaller(node))
    .map((node) => findingAt(node, { rule: name, message }));
}

/** `import` and `export … from`; types alone are nothing that runs. */
function importsClient(node: ts.Node): boolean {
  if (!ts.isImportDeclaration(node) && !ts.isExportDeclaration(node)) return false;
  if (!isClientModule(node.moduleSpecifier)) return false;
  if (ts.isExportDeclaration(node)) return !node.isTypeOnly;
  const clause = node.importClause;
  if (clause === undefined || clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return clause === undefined;
  const bindings = clause.namedBindings;
  if (clause.name !== undefined || bindings === undefined || !ts.isNamedImports(bindings)) return true;
  return bindings.elements.some(
    (element) => !element.isTypeOnly && !harmless.has((element.propertyName ?? element.name).text),
  );
}

/** `import("node:http")`, `require(…)` and `process.getBuiltinModule(…)`. */
function loadsModule(node: ts.Node): boolean {
  if (!ts.isCallExpression(node) || !isClientModule(node.arguments[0])) return false;
  const { expression } = node;
  if (expression.kind === ts.SyntaxKind.ImportKeyword) return true;
  const called = ts.isPropertyAccessExpression(expression) ? expression.name : expression;
  return ts.isIdentifier(called) && loaders.has(called.text);
}

/** `fetch`, called or handed on, and `globalThis.fetch`; a method or field of that name is somebody's own. */
function isCaller(node: ts.Node): boolean {
  if (!ts.isIdentifier(node) || !callers.has(node.text)) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return ts.isIdentifier(parent.expression) && globals.has(parent.expression.text);
  }
  if (ts.isTypeReferenceNode(parent) || ts.isTypeQueryNode(parent)) return false;
  const isNameOfMember =
    (ts.isPropertyAssignment(parent) || ts.isClassElement(parent) || ts.isTypeElement(parent)) &&
    parent.name === node;
  return !isNameOfMember;
}

function isClientModule(node: ts.Node | undefined): boolean {
  return isStringLiteral(node) && modules.test(node.text);
}
