import type { LlamaModel, Token } from "node-llama-cpp";

/** A character has at most four bytes, and a byte-level token at least one; more than this is not a character. */
const mostHeldTokens = 8;
const replacementCharacter = "\uFFFD";

export type TokenText = {
  /** The text that became complete with this token; empty while a character is unfinished. */
  add(token: Token): string;
  /** What is left when the answer ends inside a character. */
  end(): string;
};

/** Turns tokens into text piece by piece, never showing half a character. Special tokens keep their text. */
export function openTokenText(model: Pick<LlamaModel, "detokenize">, preceding: readonly Token[]): TokenText {
  let held: Token[] = [];
  let before = preceding.slice(-mostHeldTokens);
  const release = (text: string): string => {
    before = [...before, ...held].slice(-mostHeldTokens);
    held = [];
    return text;
  };
  return {
    add(token) {
      held.push(token);
      const text = model.detokenize(held, true, before);
      const isUnfinished = text.endsWith(replacementCharacter) && held.length < mostHeldTokens;
      return isUnfinished ? "" : release(text);
    },
    end: () => (held.length === 0 ? "" : release(model.detokenize(held, true, before))),
  };
}
