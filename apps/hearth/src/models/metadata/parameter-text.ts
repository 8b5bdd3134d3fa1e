import { parameterNames, refusalOf } from "./model-parameters.ts";

type ParameterValue = string | number | boolean | readonly string[];

/** Names that once meant something. Old Modelfiles have them, so they are taken, and change nothing. */
const retired = new Set([
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

export type ReadParameterText =
  | { readonly value: ParameterValue; readonly isRetired: boolean }
  | { readonly reason: string };

/** A parameter as a person writes it, its name and its words; only `stop` has more than one. */
export function readParameterText(name: string, texts: readonly string[]): ReadParameterText {
  const value = name === "stop" ? texts : readScalar(texts.join(" "));
  if (retired.has(name)) return { value, isRetired: true };
  const reason = parameterNames.includes(name) ? refusalOf(name, value) : tellUnknown(name);
  return reason === undefined ? { value, isRetired: false } : { reason };
}

function readScalar(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/iu.test(text) ? Number(text) : text;
}

const mostDistance = 3;

function tellUnknown(name: string): string {
  // The distance takes the square of the length, and a longer word is near none.
  const near = name.length > 40 ? [] : parameterNames.filter((each) => isNear(name, each));
  return near.length > 0
    ? `there is no such parameter; perhaps ${near.join(" or ")} is meant`
    : `there is no such parameter; there are ${parameterNames.join(", ")}`;
}

/** A short name must differ less, or everything is near to it. */
function isNear(name: string, known: string): boolean {
  const bare = name.toLowerCase().replaceAll(/[^a-z]/gu, "");
  const distance = distanceBetween(bare, known.replaceAll("_", ""));
  return distance <= Math.min(mostDistance, Math.floor(known.length / 3));
}

/** How many letters must be put in, taken out or changed. */
function distanceBetween(one: string, other: string): number {
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
