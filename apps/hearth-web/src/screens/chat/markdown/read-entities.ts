/** From U+00A0 to U+00FF, in their order. */
const latin =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/** From U+0391 and U+03B1; a capital has no form for the end of a word. */
const greek =
  "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi psi omega";

const others =
  "amp& lt< gt> quot\" apos' ensp\u2002 emsp\u2003 thinsp\u2009 ndash– mdash— lsquo‘ rsquo’ sbquo‚ ldquo“ rdquo” bdquo„ dagger† Dagger‡ bull• hellip… permil‰ prime′ Prime″ lsaquo‹ rsaquo› oline‾ frasl⁄ euro€ trade™ larr← uarr↑ rarr→ darr↓ harr↔ lArr⇐ rArr⇒ hArr⇔ forall∀ part∂ exist∃ empty∅ nabla∇ isin∈ notin∉ ni∋ prod∏ sum∑ minus− radic√ prop∝ infin∞ ang∠ and∧ or∨ cap∩ cup∪ int∫ there4∴ sim∼ cong≅ asymp≈ ne≠ equiv≡ le≤ ge≥ sub⊂ sup⊃ nsub⊄ sube⊆ supe⊇ oplus⊕ otimes⊗ perp⊥ sdot⋅ lceil⌈ rceil⌉ lfloor⌊ rfloor⌋ loz◊ spades♠ clubs♣ hearts♥ diams♦ check✓ OElig\u0152 oelig\u0153 Scaron\u0160 scaron\u0161 Yuml\u0178 fnof\u0192 circ\u02C6 tilde\u02DC";

const named: ReadonlyMap<string, string> = new Map([
  ...latin.split(" ").map((name, place) => [name, String.fromCodePoint(0xa0 + place)] as const),
  ...greek
    .split(" ")
    .flatMap((name, place) => [
      [name, String.fromCodePoint(0x3b1 + place)] as const,
      [name.charAt(0).toUpperCase() + name.slice(1), String.fromCodePoint(0x391 + place)] as const,
    ]),
  ...others.split(/ /u).map((pair) => [pair.slice(0, -1), pair.slice(-1)] as const),
]);

const entity = /&(?:#(\d{1,7}|[xX][\da-fA-F]{1,6})|([a-zA-Z][a-zA-Z\d]{1,7}));/gu;

/**
 * What HTML calls by a name or a number, as the character itself: by number all, by name those that people write.
 * What is left stands as it was written. Not by the browser's own parser, which the page's policy keeps from texts.
 */
export function readEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(entity, (whole, number = "", name = "") =>
    // With the nought before it, `x41` is a number in sixteens and `65` stays one in tens.
    number === "" ? (named.get(name) ?? whole) : characterOf(Number(`0${number}`)),
  );
}

/** What is no character is shown as the sign for that. */
function characterOf(point: number): string {
  const isNone = point === 0 || point > 0x10_ff_ff || (point >= 0xd8_00 && point <= 0xdf_ff);
  return isNone ? "\uFFFD" : String.fromCodePoint(point);
}
