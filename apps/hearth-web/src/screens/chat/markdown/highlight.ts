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

export type ColouredPiece = string | { readonly kind: Kind; readonly pieces: readonly ColouredPiece[] };
/** As many colours as `design/` has. */
type Kind = "word" | "name" | "text" | "number" | "note" | "plain";

/** A tree as the highlighter builds it. */
type Node = string | { readonly scope?: string; readonly children: readonly Node[] };

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

const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/^(?:keyword|built_in|literal|selector-tag|tag|name|meta|section)/u, "word"],
  [/^(?:title|attr|attribute|property|type|class|function|variable|params|selector|symbol|bullet)/u, "name"],
  [/^(?:string|regexp|addition|link|code|quote|char|subst)/u, "text"],
  [/^number/u, "number"],
  [/^(?:comment|doctag|deletion)/u, "note"],
];

/** Undefined for a language nobody here knows. */
export function colour(code: string, language: string): readonly ColouredPiece[] | undefined {
  if (highlighter.getLanguage(language) === undefined) return undefined;
  const { _emitter: emitter } = highlighter.highlight(code, { language, ignoreIllegals: true });
  // The tree it makes its HTML of; with HTML there would be nothing for us to do but trust it.
  const { rootNode } = emitter as unknown as { readonly rootNode: Exclude<Node, string> };
  return rootNode.children.map(convert);
}

function convert(node: Node): ColouredPiece {
  if (typeof node === "string") return node;
  const scope = node.scope ?? "";
  const [, kind = "plain"] = kinds.find(([pattern]) => pattern.test(scope)) ?? [];
  return { kind, pieces: node.children.map(convert) };
}
