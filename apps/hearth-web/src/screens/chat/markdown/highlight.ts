import highlighter from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

export type HighlightedNode = string | { readonly kind: Kind; readonly children: readonly HighlightedNode[] };
/** The token classes that `design/` has colors for. */
type Kind = "keyword" | "name" | "string" | "number" | "comment" | "plain";

/** A node of highlight.js' token tree. */
type TreeNode = string | { readonly scope?: string; readonly children: readonly TreeNode[] };

const languages = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  kotlin,
  lua,
  markdown,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(languages)) highlighter.registerLanguage(name, language);

const kindsByScope: readonly (readonly [RegExp, Kind])[] = [
  [/^(?:keyword|built_in|literal|selector-tag|tag|name|meta|section)/u, "keyword"],
  [/^(?:title|attr|attribute|property|type|class|function|variable|params|selector|symbol|bullet)/u, "name"],
  [/^(?:string|regexp|addition|link|code|quote|char|subst)/u, "string"],
  [/^number/u, "number"],
  [/^(?:comment|doctag|deletion)/u, "comment"],
];

/** Undefined for an unknown language. */
export function highlight(code: string, language: string): readonly HighlightedNode[] | undefined {
  if (highlighter.getLanguage(language) === undefined) return undefined;
  const { _emitter: emitter } = highlighter.highlight(code, { language, ignoreIllegals: true });
  // The token tree behind the HTML output, so that no HTML of a library has to be trusted.
  const { rootNode } = emitter as unknown as { readonly rootNode: Exclude<TreeNode, string> };
  return rootNode.children.map(convert);
}

function convert(node: TreeNode): HighlightedNode {
  if (typeof node === "string") return node;
  const scope = node.scope ?? "";
  const [, kind = "plain"] = kindsByScope.find(([pattern]) => pattern.test(scope)) ?? [];
  return { kind, children: node.children.map(convert) };
}
