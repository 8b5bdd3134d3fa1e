/** Characters; a slice of ordinary text takes some ten milliseconds to tokenize. */
export const sliceLength = 16_384;

/** Texts of special tokens, which must not be cut. */
export type SpecialTexts = { readonly texts: readonly string[]; readonly maxLength: number };

/**
 * Cuts a text where every tokenizer with merged byte pairs starts a new word, so that the tokens of the slices are the
 * tokens of the text. A word that is longer than a slice is cut anywhere.
 */
export function* sliceText(
  text: string,
  specials: SpecialTexts,
  length: number = sliceLength,
): Generator<string> {
  let start = 0;
  while (text.length - start > length) {
    const end = findCut(text, { start, latest: start + length, specials });
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

type CutRange = { readonly start: number; readonly latest: number; readonly specials: SpecialTexts };

function findCut(text: string, { start, latest, specials }: CutRange): number {
  for (let cut = latest; cut > start; cut -= 1) {
    if (startsWord(text, cut) && !isInSpecial(text, cut, specials)) return cut;
  }
  for (let cut = latest; cut > start; cut -= 1) {
    if (!isInSurrogatePair(text, cut) && !isInSpecial(text, cut, specials)) return cut;
  }
  return latest;
}

const letter = /^\p{L}$/u;
const digit = /^\p{N}$/u;
const space = /^\s$/u;
/** Marks belong to the letter before them, and an apostrophe may belong to a contraction. */
const other = /^[^\s\p{L}\p{N}\p{M}\p{Cs}'’]$/u;

/**
 * " word" after anything but a space, a line that starts with a letter after one that does not end with a space, and a
 * digit or punctuation after a letter.
 */
function startsWord(text: string, index: number): boolean {
  const before = text.charAt(index - 1);
  const at = text.charAt(index);
  if (at === " ") return letter.test(text.charAt(index + 1)) && !space.test(before);
  if (before === "\n") return letter.test(at) && !space.test(text[index - 2] ?? " ");
  return letter.test(before) && (digit.test(at) || other.test(at));
}

function isInSurrogatePair(text: string, index: number): boolean {
  return /^[\uDC00-\uDFFF]/.test(text[index] ?? "");
}

function isInSpecial(text: string, index: number, { texts, maxLength }: SpecialTexts): boolean {
  const window = text.slice(Math.max(0, index - maxLength), index + maxLength);
  const cut = Math.min(index, maxLength);
  return texts.some((special) => {
    for (let found = window.indexOf(special); found !== -1; found = window.indexOf(special, found + 1)) {
      if (found < cut && cut < found + special.length) return true;
    }
    return false;
  });
}
