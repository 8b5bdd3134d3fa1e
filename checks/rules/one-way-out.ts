import ts from "typescript";
import type { Rule, TextFile } from "../finding.ts";
import { codeFiles, isTest } from "../source-tree.ts";
import { findingAt, isStringLiteral, nodesOf } from "../syntax.ts";

const name = "one-way-out";
const message = "Open connections through packages/outbound-http, which checks every address";

const shipped = /^(?:apps|packages)\//u;
/**
 * The outbound client itself, code that is never shipped, and browser code, whose requests the browser restricts. Also
 * the connections to engines: their addresses are our own sockets or come from the operator's settings, and are often
 * on private networks. And the pipe that a worker inherits. The proxy
 * of agents ends their connections, and its forwarder connects to its Unix socket; the requests leave by the client.
 */
const exempt =
  /^packages\/(?:outbound-http|test-servers|figures|upstream-engine\/src\/wire)\/|^apps\/(?:hearth-web|keep-console)\/|\/test\/|^packages\/(?:upstream-engine\/src\/pool\/discovery|llama-engine\/src\/channel\/open-channel)\.ts$|^apps\/keep\/src\/client\/agent\/(?:certificates|egress-proxy|forwarder)\.ts$/u;
const modules =
  /^(?:node:)?(?:http|https|http2|net|tls|dgram|dns|dns\/promises)$|^(?:undici|axios|got|node-fetch|ws)$/u;
/** Exports of these modules that open no outbound connection. */
const harmless = new Set(
  "isIP isIPv4 isIPv6 BlockList SocketAddress createServer STATUS_CODES METHODS".split(" "),
);
const callers = new Set(["fetch", "WebSocket", "EventSource", "XMLHttpRequest"]);
const loaders = new Set(["require", "getBuiltinModule"]);
const globals = new Set(["globalThis", "global", "window", "self"]);

/** No shipped code opens an outbound connection by itself. */
export const oneWayOut: Rule = {
  name,
  find(files) {
    return codeFiles(files)
      .filter(({ path }) => shipped.test(path) && !exempt.test(path) && !isTest(path))
      .flatMap(findInFile);
  },
};

function findInFile(file: TextFile): ReturnType<Rule["find"]> {
  return nodesOf(file)
    .filter((node) => importsClient(node) || loadsModule(node) || isCaller(node))
    .map((node) => findingAt(node, { rule: name, message }));
}

/** `import` and `export … from`; type-only imports do not count. */
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

/** `fetch`, called or passed as a value, and `globalThis.fetch`; methods and fields of that name do not count. */
function isCaller(node: ts.Node): boolean {
  if (!ts.isIdentifier(node) || !callers.has(node.text)) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return ts.isIdentifier(parent.expression) && globals.has(parent.expression.text);
  }
  if (ts.isTypeReferenceNode(parent) || ts.isTypeQueryNode(parent)) return false;
  const isMemberName =
    (ts.isPropertyAssignment(parent) || ts.isClassElement(parent) || ts.isTypeElement(parent)) &&
    parent.name === node;
  return !isMemberName;
}

function isClientModule(node: ts.Node | undefined): boolean {
  return isStringLiteral(node) && modules.test(node.text);
}
