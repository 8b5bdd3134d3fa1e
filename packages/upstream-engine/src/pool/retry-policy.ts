/** How long is waited for what, in seconds. */
export type PoolTimeouts = {
  /** For an engine that takes requests, when none does. */
  readonly anyEngine: number;
  /** For the next event of an engine that does not say that it is well. */
  readonly unwell: number;
  /** For the first event of one that does: a long prompt is read in silence. */
  readonly reading: number;
  /** For each event behind the first. */
  readonly writing: number;
};

export const defaultPoolTimeouts: PoolTimeouts = {
  anyEngine: 10,
  unwell: 10,
  reading: 15 * 60,
  writing: 3 * 60,
};
