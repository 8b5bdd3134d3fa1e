/** Numbers that look random and are the same every time: a case that fails can be run again. */
export type Random = {
  /** A whole number, at least the first and at most the second. */
  between(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
};

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e37_79b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0_aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const between = (least: number, most: number): number => least + (next() % (most - least + 1));
  return {
    between,
    pick(items) {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new Error("Cannot pick from nothing");
      return item;
    },
  };
}
