import ts from "typescript";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { isStringLiteral, lineOfNode, nodesOf, propertyOf } from "../syntax.ts";

const name = "documented-routes";
const tableOfRoutes = /^apps\/(?<app>[^/]+)\/src\/routes\.ts$/u;
const documentation = /^docs\/api\/(?<app>[^/]+)\.md$/u;
const documentedRow = /^\| *(?<method>[A-Z]+) *\| *`(?<path>[^`]+)` *\|/u;

type Route = { readonly method: string; readonly path: string; readonly line: number };

/** Every route of an app is a row of docs/api/<app>.md, and every row there is a route. */
export const documentedRoutes: Rule = {
  name,
  find(files) {
    const tables = byApp(files, tableOfRoutes);
    const documents = byApp(files, documentation);
    const apps = new Set([...tables.keys(), ...documents.keys()]);
    return [...apps].flatMap((app) => compare(app, { table: tables.get(app), document: documents.get(app) }));
  },
};

function byApp(files: readonly TextFile[], pattern: RegExp): Map<string, TextFile> {
  return new Map(
    files.flatMap((file): [string, TextFile][] => {
      const app = pattern.exec(file.path)?.groups?.["app"];
      return app === undefined ? [] : [[app, file]];
    }),
  );
}

type Papers = { readonly table: TextFile | undefined; readonly document: TextFile | undefined };

function compare(app: string, { table, document }: Papers): Finding[] {
  const routes = table === undefined ? [] : routesIn(table);
  const rows = document === undefined ? [] : rowsIn(document);
  const findings: Finding[] = [];
  if (table !== undefined && routes.length === 0) {
    const message = "Write each route as a row with a literal method and path; none was found";
    findings.push({ path: table.path, line: 1, rule: name, message });
  }
  for (const route of routes.filter((candidate) => !isAmong(candidate, rows))) {
    const message = `Document "${route.method} ${route.path}" in docs/api/${app}.md`;
    findings.push({ path: table?.path ?? "", line: route.line, rule: name, message });
  }
  for (const row of rows.filter((candidate) => !isAmong(candidate, routes))) {
    const message = `Remove "${row.method} ${row.path}": ${app} has no such route`;
    findings.push({ path: document?.path ?? "", line: row.line, rule: name, message });
  }
  return findings;
}

function routesIn(file: TextFile): Route[] {
  return [...nodesOf(file)].filter(ts.isObjectLiteralExpression).flatMap((row) => {
    const path = propertyOf(row, "path");
    const methods = literals(propertyOf(row, "method"));
    if (!isStringLiteral(path)) return [];
    return methods.map((method) => ({ method, path: path.text, line: lineOfNode(row) }));
  });
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
    return method === undefined || path === undefined ? [] : [{ method, path, line: index + 1 }];
  });
}

function isAmong({ method, path }: Route, others: readonly Route[]): boolean {
  return others.some((other) => other.method === method && other.path === path);
}
