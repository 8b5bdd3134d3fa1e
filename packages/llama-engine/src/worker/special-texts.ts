import type { Metadata } from "@hearth-and-keep/gguf";
import type { SpecialTexts } from "./slice-text.ts";

const controlToken = 3;
const userDefinedToken = 4;
/** A cut of `sliceText` within a token: then this vocabulary was not trained on separate words. */
const severalWords = /[a-z](?: [a-z]|[0-9!-&(-/:-@[-`{-~])|\S\n[a-z]/i;

/** Undefined if the tokens of a text's slices may differ from those of the text. */
export function findSpecialTexts(metadata: Metadata): SpecialTexts | undefined {
  if (metadata.get("tokenizer.ggml.model")?.value !== "gpt2") return undefined;
  const tokens = metadata.get("tokenizer.ggml.tokens")?.value;
  const types = metadata.get("tokenizer.ggml.token_type")?.value;
  if (typeof tokens !== "object" || tokens.kind !== "strings") return undefined;
  const kinds = typeof types === "object" && types.kind === "numbers" ? types.values : undefined;
  const texts: string[] = [];
  let index = 0;
  for (const token of tokens) {
    const kind = Number(kinds?.[index] ?? 1);
    index += 1;
    if (kind === controlToken || kind === userDefinedToken) texts.push(token);
    // In these vocabularies a space is written as \u0120, and a line break as \u010A.
    else if (severalWords.test(token.replaceAll("\u0120", " ").replaceAll("\u010A", "\n"))) return undefined;
  }
  return { texts, maxLength: texts.reduce((longest, { length }) => Math.max(longest, length), 1) };
}
