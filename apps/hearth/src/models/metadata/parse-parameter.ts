import { checkParameter, parameterNames } from "./model-parameters.ts";

type ParameterValue = string | number | boolean | readonly string[];

/** Options that older Modelfiles still set; they are accepted and ignored. */
const deprecated = new Set([
  "f16_kv",
  "logits_all",
  "low_vram",
  "mirostat",
  "mirostat_eta",
  "mirostat_tau",
  "penalize_newline",
  "use_mlock",
  "vocab_only",
]);

export type ParsedParameter =
  | { readonly value: ParameterValue; readonly isDeprecated: boolean }
  | { readonly reason: string };

/** Parses a parameter from text; only `stop` may have more than one value. */
export function parseParameter(name: string, texts: readonly string[]): ParsedParameter {
  const value = name === "stop" ? texts : parseScalar(texts.join(" "));
  if (deprecated.has(name)) return { value, isDeprecated: true };
  const reason = parameterNames.includes(name) ? checkParameter(name, value) : describeUnknown(name);
  return reason === undefined ? { value, isDeprecated: false } : { reason };
}

function parseScalar(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/iu.test(text) ? Number(text) : text;
}

const maxEditDistance = 3;

function describeUnknown(name: string): string {
  // The edit distance takes quadratic time, and no parameter has a name this long.
  const similar = name.length > 40 ? [] : parameterNames.filter((each) => isSimilar(name, each));
  return similar.length > 0
    ? `unknown parameter; did you mean ${similar.join(" or ")}?`
    : `unknown parameter; the parameters are ${parameterNames.join(", ")}`;
}

/** Short names allow fewer edits; otherwise every text would be similar to them. */
function isSimilar(name: string, known: string): boolean {
  const bare = name.toLowerCase().replaceAll(/[^a-z]/gu, "");
  const distance = editDistance(bare, known.replaceAll("_", ""));
  return distance <= Math.min(maxEditDistance, Math.floor(known.length / 3));
}

/** Levenshtein distance: the number of letters to insert, delete or replace. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [index, letter] of one.split("").entries()) {
    const next = [index + 1];
    for (const [column, otherLetter] of other.split("").entries()) {
      const changed = (row[column] ?? 0) + (letter === otherLetter ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
