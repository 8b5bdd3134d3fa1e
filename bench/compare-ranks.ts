/**
 * The rank-sum test of Mann and Whitney: how many standard deviations lie between two samples, if both came from the
 * same source. It depends on the order of the values only, so outliers do not hide a difference.
 */
export function compareRanks(first: readonly number[], second: readonly number[]): number {
  const [count, other] = [first.length, second.length];
  const wins = first.flatMap((a): number[] => second.map((b) => (a > b ? 1 : a === b ? 0.5 : 0)));
  const sum = wins.reduce((total, win) => total + win, 0);
  return (sum - (count * other) / 2) / Math.sqrt((count * other * (count + other + 1)) / 12);
}
