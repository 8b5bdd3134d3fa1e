/**
 * @module
 * The endpoints and request fields that the official clients of the three APIs know, read from the types in their source
 * with TypeScript's compiler, and tables that say what Hearth does with each of them. The tests fail if a type has a field
 * that no table mentions, or a table mentions a field that no type has, and send every field to a server.
 * Imported by nothing outside this folder.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

export type ClientField = {
  readonly location: "body" | "query" | "path" | "header";
  readonly type: ts.Type;
};

export type ClientEndpoint = {
  /** Like `POST /v1/chat/completions`; parameters in the path are `:id`. */
  readonly name: string;
  readonly fields: ReadonlyMap<string, ClientField>;
};

export type ClientTypes = {
  readonly endpoints: readonly ClientEndpoint[];
  readonly checker: ts.TypeChecker;
};

/** How a client sends requests. */
type Client = {
  /** The files that contain its classes. */
  readonly files: readonly string[];
  readonly pathPrefix: string;
  /** The names of the types of request parameters. */
  readonly parameterNames: RegExp;
};

const packages = join(import.meta.dirname, "../../node_modules");

export function readOpenAITypes(): ClientTypes {
  const files = listSources(join(packages, "openai/src/resources"));
  return readTypes({ files, pathPrefix: "/v1", parameterNames: /Params/u });
}

export function readAnthropicTypes(): ClientTypes {
  const files = listSources(join(packages, "@anthropic-ai/sdk/src/resources"));
  return readTypes({ files, pathPrefix: "", parameterNames: /Params/u });
}

export function readOllamaTypes(): ClientTypes {
  const files = [join(packages, "ollama/src/browser.ts")];
  return readTypes({ files, pathPrefix: "", parameterNames: /Request$/u });
}

/** Reads classes with one method for each endpoint. The same endpoint in several classes has the fields of all of them. */
function readTypes({ files, pathPrefix, parameterNames }: Client): ClientTypes {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ESNext,
    lib: ["lib.esnext.d.ts"],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: [],
  });
  const checker = program.getTypeChecker();
  const fieldsByName = new Map<string, Map<string, ClientField>>();
  for (const file of files) {
    visit(program.getSourceFile(file), (node) => {
      if (!ts.isMethodDeclaration(node) || node.body === undefined) return;
      const call = findRequest(node.body, checker);
      if (call === undefined) return;
      const name = `${call.method} ${pathPrefix}${call.path}`;
      const fields = fieldsByName.get(name) ?? new Map<string, ClientField>();
      fieldsByName.set(name, fields);
      for (const type of parameterTypes(node, { checker, parameterNames }))
        for (const property of propertiesOf(type, checker))
          fields.set(property.name, {
            location: locate(property.name, call, node.body.getText()),
            type: checker.getTypeOfSymbol(property),
          });
    });
  }
  return { endpoints: [...fieldsByName].map(([name, fields]) => ({ name, fields })), checker };
}

function listSources(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

function visit(node: ts.Node | undefined, callback: (node: ts.Node) => void): void {
  if (node === undefined) return;
  callback(node);
  ts.forEachChild(node, (child) => visit(child, callback));
}

type RequestCall = { readonly method: string; readonly path: string };

/** By the names of the functions that send requests. */
const methods: Readonly<Record<string, string>> = {
  get: "GET",
  getAPIList: "GET",
  post: "POST",
  processStreamableRequest: "POST",
  put: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  del: "DELETE",
};

const senders = new Set(["this._client", "client", "this", "utils"]);

/** The call that sends the request; undefined for methods that only call other methods. */
function findRequest(body: ts.Node, checker: ts.TypeChecker): RequestCall | undefined {
  const calls: ts.CallExpression[] = [];
  visit(body, (node) => ts.isCallExpression(node) && calls.push(node));
  const request = calls.flatMap((call) => readCall(call) ?? [])[0];
  if (request !== undefined) return request;
  const delegate = calls.find(({ arguments: [first] }) => first?.getText() === "this._client");
  const called = delegate && checker.getResolvedSignature(delegate)?.declaration;
  return called === undefined || called === body.parent || !("body" in called) || called.body === undefined
    ? undefined
    : findRequest(called.body, checker);
}

function readCall({ expression: callee, arguments: given }: ts.CallExpression): RequestCall | undefined {
  if (!ts.isPropertyAccessExpression(callee) || !senders.has(callee.expression.getText())) return undefined;
  const method = methods[callee.name.text];
  const path = given.find((argument) => isPath(argument));
  if (method === undefined || path === undefined) return undefined;
  const isPost = given.some((argument) => /\bmethod: 'post'/u.test(argument.getText()));
  const text = ts.isTaggedTemplateExpression(path) ? path.template.getText() : path.getText();
  const written = text.slice(1, -1).replace(/^https:\/\/[^/]+|^\$\{this\.config\.host\}/u, "");
  const complete = callee.name.text === "processStreamableRequest" ? `/api/${written}` : written;
  return {
    method: isPost ? "POST" : method,
    path: complete.replaceAll(/\$\{[^}]*\}/gu, ":id").replace(/\?.*$/u, ""),
  };
}

function isPath(node: ts.Expression): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || ts.isTaggedTemplateExpression(node);
}

type ParameterOptions = Pick<Client, "parameterNames"> & { readonly checker: ts.TypeChecker };

/** The types of the parameters that describe a request; options of the client itself are not among them. */
function parameterTypes(
  { parameters }: ts.MethodDeclaration,
  { checker, parameterNames }: ParameterOptions,
): readonly ts.Type[] {
  const types: ts.Type[] = [];
  for (const { type } of parameters)
    visit(type, (node) => {
      if (ts.isTypeReferenceNode(node) && parameterNames.test(node.typeName.getText()))
        types.push(checker.getTypeFromTypeNode(node));
    });
  return types;
}

function propertiesOf(type: ts.Type, checker: ts.TypeChecker): readonly ts.Symbol[] {
  if (type.isUnion()) return type.types.flatMap((member) => propertiesOf(member, checker));
  return checker.getPropertiesOfType(type);
}

/** A method takes the fields that are not in the body out of its parameters. */
function locate(name: string, { method }: RequestCall, text: string): ClientField["location"] {
  const isTaken = new RegExp(`\\{[^{}]*\\b${name}\\b[^{}]*\\} = `, "u").test(text);
  if (!isTaken) return method === "GET" ? "query" : "body";
  if (text.includes(`\${${name}}`)) return "path";
  return new RegExp(`query: \\{[^}]*\\b${name}\\b`, "u").test(text) ? "query" : "header";
}
