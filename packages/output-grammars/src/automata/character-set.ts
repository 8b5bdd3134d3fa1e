/** Code points as sorted, disjoint, inclusive ranges. */
export type CharacterSet = readonly CharacterRange[];
export type CharacterRange = readonly [first: number, last: number];

/** Every character that a JSON string can contain, i.e. all code points except surrogates. */
export const anyCharacter: CharacterSet = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff],
];

export function joinSets(...sets: readonly CharacterSet[]): CharacterSet {
  const joined: [number, number][] = [];
  for (const [first, last] of sets.flat().toSorted((one, other) => one[0] - other[0])) {
    const previous = joined.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

export function complementSet(set: CharacterSet): CharacterSet {
  const gaps: CharacterRange[] = [];
  let next = 0;
  for (const [first, last] of joinSets(set)) {
    if (first > next) gaps.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= 0x10ffff) gaps.push([next, 0x10ffff]);
  return intersectSets(gaps, anyCharacter);
}

export function intersectSets(one: CharacterSet, other: CharacterSet): CharacterSet {
  return one.flatMap(([first, last]) =>
    other
      .map(([from, to]): CharacterRange => [Math.max(first, from), Math.min(last, to)])
      .filter(([from, to]) => from <= to),
  );
}

export function setOf(characters: string): CharacterSet {
  return joinSets(
    Array.from(characters, (character): CharacterRange => [codePointOf(character), codePointOf(character)]),
  );
}

export function codePointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
