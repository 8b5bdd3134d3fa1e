/** Deterministic pseudo-random numbers, so that a failing case can be reproduced. */
export type Random = {
  /** An integer in the inclusive range. */
  between(min: number, max: number): number;
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
  const between = (min: number, max: number): number => min + (next() % (max - min + 1));
  return {
    between,
    pick(items) {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new Error("Cannot pick from an empty list");
      return item;
    },
  };
}
