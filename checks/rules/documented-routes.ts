import ts from "typescript";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { isStringLiteral, lineOfNode, nodesOf, propertyOf } from "../syntax.ts";

const name = "documented-routes";
/** The route table itself, and the files of modules that declare their routes next to their handlers. */
const tableOfRoutes = /^apps\/(?<app>[^/]+)\/src\/(?:routes|(?:.+\/)?http)\.ts$/u;
const documentation = /^docs\/(?<app>[^/]+)\/api\.md$/u;
const documentedRow = /^\| *(?<method>[A-Z]+) *\| *`(?<path>[^`]+)` *\|/u;

type Route = { readonly method: string; readonly path: string; readonly file: string; readonly line: number };

/** Every route of an app is a row of docs/<app>/api.md, and every row there is a route. */
export const documentedRoutes: Rule = {
  name,
  find(files) {
    const tables = byApp(files, tableOfRoutes);
    const documents = byApp(files, documentation);
    const apps = new Set([...tables.keys(), ...documents.keys()]);
    return [...apps].flatMap((app) =>
      compare(app, { tables: tables.get(app) ?? [], documents: documents.get(app) ?? [] }),
    );
  },
};

function byApp(files: readonly TextFile[], pattern: RegExp): Map<string, TextFile[]> {
  const found = files.filter((file) => pattern.test(file.path));
  return Map.groupBy(found, (file) => pattern.exec(file.path)?.groups?.["app"] ?? "");
}

type RouteSources = { readonly tables: readonly TextFile[]; readonly documents: readonly TextFile[] };

function compare(app: string, { tables, documents }: RouteSources): Finding[] {
  const routes = tables.flatMap(routesIn);
  const rows = documents.flatMap(rowsIn);
  const findings: Finding[] = [];
  const [table] = tables;
  if (table !== undefined && routes.length === 0) {
    const message = "Declare each route as an object with a literal method and path; none was found";
    findings.push({ path: table.path, line: 1, rule: name, message });
  }
  for (const route of routes.filter((candidate) => !includesRoute(candidate, rows))) {
    const message = `Document "${route.method} ${route.path}" in docs/${app}/api.md`;
    findings.push({ path: route.file, line: route.line, rule: name, message });
  }
  for (const row of rows.filter((candidate) => !includesRoute(candidate, routes))) {
    const message = `Remove "${row.method} ${row.path}": ${app} has no such route`;
    findings.push({ path: row.file, line: row.line, rule: name, message });
  }
  return findings;
}

function routesIn(file: TextFile): Route[] {
  const nodes = nodesOf(file);
  const constants = constantsIn(nodes);
  return nodes.filter(ts.isObjectLiteralExpression).flatMap((row) => {
    const path = textOf(propertyOf(row, "path"), constants);
    const methods = literals(propertyOf(row, "method"));
    if (path === undefined) return [];
    return methods.map((method) => ({ method, path, file: file.path, line: lineOfNode(row) }));
  });
}

/** Path prefixes that a file declares as constants, such as `const vault = "/vaults/:vault"`. */
function constantsIn(nodes: readonly ts.Node[]): ReadonlyMap<string, string> {
  const constants = new Map<string, string>();
  for (const declaration of nodes.filter(ts.isVariableDeclaration)) {
    const text = textOf(declaration.initializer, constants);
    if (ts.isIdentifier(declaration.name) && text !== undefined) constants.set(declaration.name.text, text);
  }
  return constants;
}

/** Undefined for text that cannot be determined statically. */
function textOf(node: ts.Expression | undefined, constants: ReadonlyMap<string, string>): string | undefined {
  if (isStringLiteral(node)) return node.text;
  if (node === undefined) return undefined;
  if (ts.isIdentifier(node)) return constants.get(node.text);
  if (!ts.isTemplateExpression(node)) return undefined;
  const segments = node.templateSpans.map(({ expression, literal }) => {
    const text = textOf(expression, constants);
    return text === undefined ? undefined : text + literal.text;
  });
  return segments.includes(undefined) ? undefined : node.head.text + segments.join("");
}

function literals(node: ts.Expression | undefined): string[] {
  if (isStringLiteral(node)) return [node.text];
  return node !== undefined && ts.isArrayLiteralExpression(node)
    ? node.elements.filter((element) => isStringLiteral(element)).map((element) => element.text)
    : [];
}

function rowsIn(file: TextFile): Route[] {
  return file.text.split("\n").flatMap((text, index) => {
    const { method, path } = documentedRow.exec(text)?.groups ?? {};
    return method === undefined || path === undefined
      ? []
      : [{ method, path, file: file.path, line: index + 1 }];
  });
}

function includesRoute({ method, path }: Route, others: readonly Route[]): boolean {
  return others.some((other) => other.method === method && other.path === path);
}
