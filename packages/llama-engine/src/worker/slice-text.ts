/** Characters; a slice of ordinary text takes some ten milliseconds to tokenize. */
export const sliceLength = 16_384;

/** Where a vocabulary allows to cut a text. */
export type TextCuts = {
  /** Texts of special tokens, which must not be cut. */
  readonly specials: readonly string[];
  /** Whether the tokens before and after this index never depend on each other. */
  readonly startsWord: (text: string, index: number) => boolean;
  /** Must be put before each slice but the first, and its tokens be removed again. */
  readonly prefix: string;
};

/**
 * Cuts a text so that the tokens of the slices are the tokens of the text. A word that is longer than a slice is cut
 * anywhere.
 */
export function* sliceText(text: string, cuts: TextCuts, length: number = sliceLength): Generator<string> {
  const maxSpecialLength = cuts.specials.reduce((longest, each) => Math.max(longest, each.length), 1);
  let start = 0;
  while (text.length - start > length) {
    const end = findCut(text, { start, latest: start + length, cuts, maxSpecialLength });
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

type CutRange = {
  readonly start: number;
  readonly latest: number;
  readonly cuts: TextCuts;
  readonly maxSpecialLength: number;
};

function findCut(text: string, range: CutRange): number {
  const { start, latest, cuts } = range;
  for (let cut = latest; cut > start; cut -= 1) {
    if (cuts.startsWord(text, cut) && !touchesSpecial(text, cut, range)) return cut;
  }
  for (let cut = latest; cut > start; cut -= 1) {
    if (!isInSurrogatePair(text, cut) && !touchesSpecial(text, cut, range)) return cut;
  }
  return latest;
}

const letter = /^\p{L}$/u;
const digit = /^\p{N}$/u;
const space = /^\s$/u;
/** Marks belong to the letter before them, and an apostrophe may belong to a contraction. */
const other = /^[^\s\p{L}\p{N}\p{M}\p{Cs}'’]$/u;

/**
 * Where every tokenizer with merged byte pairs starts a word: " word" after anything but a space, a line that starts
 * with a letter after one that does not end with a space, and a digit or punctuation after a letter.
 */
export function startsWord(text: string, index: number): boolean {
  const before = text.charAt(index - 1);
  const at = text.charAt(index);
  if (at === " ") return letter.test(text.charAt(index + 1)) && !space.test(before);
  if (before === "\n") return letter.test(at) && !space.test(text[index - 2] ?? " ");
  return letter.test(before) && (digit.test(at) || other.test(at));
}

function isInSurrogatePair(text: string, index: number): boolean {
  return /^[\uDC00-\uDFFF]/.test(text[index] ?? "");
}

/** Within a special token, or right after it, where the model may drop a space. */
function touchesSpecial(text: string, index: number, { cuts, maxSpecialLength }: CutRange): boolean {
  const window = text.slice(Math.max(0, index - maxSpecialLength), index + maxSpecialLength);
  const cut = Math.min(index, maxSpecialLength);
  return cuts.specials.some((special) => {
    for (let found = window.indexOf(special); found !== -1; found = window.indexOf(special, found + 1)) {
      if (found < cut && cut <= found + special.length) return true;
    }
    return false;
  });
}

/** The tokens of each slice, without those of the prefix. */
export function* tokenizeSlices<Token>(
  slices: Iterable<string>,
  { prefix }: TextCuts,
  tokenize: (slice: string) => readonly Token[],
): Generator<readonly Token[]> {
  const prefixTokens = prefix === "" ? 0 : tokenize(prefix).length;
  let isFirst = true;
  for (const slice of slices) {
    yield isFirst ? tokenize(slice) : tokenize(prefix + slice).slice(prefixTokens);
    isFirst = false;
  }
}
