import type { Metadata } from "@hearth-and-keep/gguf";
import { startsWord, type TextCuts } from "./slice-text.ts";

const controlToken = 3;
const userDefinedToken = 4;

/** Undefined if the tokens of a text's slices may differ from those of the text. */
export function findTextCuts(metadata: Metadata): TextCuts | undefined {
  const vocabulary = readVocabulary(metadata);
  const tokenizer = metadata.get("tokenizer.ggml.model")?.value;
  if (vocabulary === undefined) return undefined;
  if (tokenizer === "gpt2") return cutBytePairs(vocabulary);
  if (tokenizer !== "llama") return undefined;
  return cutSentencePieces(vocabulary, metadata.get("tokenizer.ggml.add_space_prefix")?.value !== false);
}

type Vocabulary = {
  readonly words: readonly string[];
  /** Of control tokens and tokens that the author of the model has added. */
  readonly specials: readonly string[];
};

function readVocabulary(metadata: Metadata): Vocabulary | undefined {
  const tokens = metadata.get("tokenizer.ggml.tokens")?.value;
  const types = metadata.get("tokenizer.ggml.token_type")?.value;
  if (typeof tokens !== "object" || tokens.kind !== "strings") return undefined;
  const kinds = typeof types === "object" && types.kind === "numbers" ? types.values : undefined;
  const words: string[] = [];
  const specials: string[] = [];
  let index = 0;
  for (const token of tokens) {
    const kind = Number(kinds?.[index] ?? 1);
    index += 1;
    const isSpecial = kind === controlToken || kind === userDefinedToken;
    (isSpecial ? specials : words).push(token);
  }
  return { words, specials };
}

/** A cut of `startsWord` within a token: then this vocabulary was not trained on separate words. */
const severalWords = /[a-z](?: [a-z]|[0-9!-&(-/:-@[-`{-~])|\S\n[a-z]/i;

function cutBytePairs({ words, specials }: Vocabulary): TextCuts | undefined {
  return words.some(hasSeveralWords) ? undefined : { specials, startsWord, prefix: "" };
}

/** In these vocabularies a space is written as \u0120, and a line break as \u010A. */
function hasSeveralWords(token: string): boolean {
  return severalWords.test(token.replaceAll("\u0120", " ").replaceAll("\u010A", "\n"));
}

/** How SentencePiece writes a space. */
const writtenSpace = "\u2581";

/**
 * SentencePiece merges neighbors if the vocabulary has them as one token. Before a space nothing can be merged after a
 * character that no token has there.
 */
function cutSentencePieces({ words, specials }: Vocabulary, addsSpace: boolean): TextCuts | undefined {
  const mergedBeforeSpace = new Set<string>();
  for (const token of words) {
    for (let at = token.indexOf(writtenSpace, 1); at !== -1; at = token.indexOf(writtenSpace, at + 1)) {
      mergedBeforeSpace.add(token.charAt(at - 1));
    }
  }
  const hasLineBreaks = words.some((token) => token.includes("\n") && token.length > 1);
  // A text gets a space in front, which must not appear before a slice; a line break takes it.
  if (addsSpace && hasLineBreaks) return undefined;
  return {
    specials,
    startsWord: (text, index) => {
      const before = text.charAt(index - 1).replace(" ", writtenSpace);
      return text.charAt(index) === " " && !mergedBeforeSpace.has(before);
    },
    prefix: addsSpace ? "\n" : "",
  };
}
