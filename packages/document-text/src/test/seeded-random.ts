export type SeededRandom = {
  /** An integer from 0 up to but excluding the bound. */
  below(bound: number): number;
  pick<Item>(items: readonly Item[]): Item;
};

/** Reproducible on every machine: a 48-bit linear congruential generator of which the upper bits are used. */
export function seededRandom(seed: number): SeededRandom {
  let state = BigInt(seed) & 0xffff_ffff_ffffn;
  function below(bound: number): number {
    state = (state * 0x5_deec_e66dn + 0xbn) & 0xffff_ffff_ffffn;
    return Number(state >> 16n) % bound;
  }
  return {
    below,
    pick(items) {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("Cannot pick from an empty list");
      return item;
    },
  };
}
