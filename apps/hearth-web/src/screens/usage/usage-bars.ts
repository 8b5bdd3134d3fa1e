import { formatCount } from "../../design/format-number.ts";
import { revealBidiControls } from "../../design/reveal-bidi-controls.ts";
import { bucketMilliseconds, formatBucket, formatTick, type Period } from "./usage-period.ts";
import { sumUsage, type Tokens, totalTokens, type UsageGroup, type UsageRow } from "./usage-report.ts";

/** One bar of a chart, stacked of three kinds of tokens. */
export type Bar = Tokens & {
  /** Its number on the axis. */
  readonly at: number;
  /** On the axis. */
  readonly tick: string;
  readonly label: string;
  /** Several groups that share a bar. */
  readonly isRest?: boolean;
};

/** A bar per hour or day. Its position is its number since the epoch, so that labels fall on round hours. */
export function barsOfBuckets(
  buckets: ReadonlyMap<number, readonly UsageRow[]>,
  { bucket }: Period,
): readonly Bar[] {
  return [...buckets].map(([start, rows]) => ({
    ...tokensOf(sumUsage(rows)),
    at: start / bucketMilliseconds[bucket],
    tick: formatTick(start, bucket),
    label: formatBucket(start, bucket),
  }));
}

const maxBars = 8;
const maxTickCharacters = 18;

/** A bar per group with tokens, the largest first; the smallest share one bar if they are many. */
export function barsOfGroups(groups: readonly UsageGroup[]): readonly Bar[] {
  const sorted = groups
    .filter((group) => totalTokens(group) > 0)
    .toSorted((one, other) => totalTokens(other) - totalTokens(one));
  const isCut = sorted.length > maxBars;
  const shown = isCut ? sorted.slice(0, maxBars - 1) : sorted;
  const rest = sorted.slice(shown.length);
  const bars = shown.map((group) => ({ label: revealBidiControls(group.name), ...tokensOf(group) }));
  const others = isCut ? [{ label: `${rest.length} others`, isRest: true, ...addTokens(rest) }] : [];
  return [...bars, ...others].map((bar, at) => ({ ...bar, at, tick: shorten(bar.label) }));
}

function tokensOf({ uncachedInput, cachedInput, output }: Tokens): Tokens {
  return { uncachedInput, cachedInput, output };
}

function addTokens(all: readonly Tokens[]): Tokens {
  return all.reduce<Tokens>(
    (sum, { uncachedInput, cachedInput, output }) => ({
      uncachedInput: sum.uncachedInput + uncachedInput,
      cachedInput: sum.cachedInput + cachedInput,
      output: sum.output + output,
    }),
    { uncachedInput: 0, cachedInput: 0, output: 0 },
  );
}

const segmenter = new Intl.Segmenter("en");

function shorten(text: string): string {
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  return characters.length <= maxTickCharacters
    ? text
    : `${characters.slice(0, maxTickCharacters - 1).join("")}…`;
}

/**
 * The values of each series, the topmost first. Each is the height up to its upper edge and is drawn over the one before,
 * so that only its own share of the bar remains visible.
 */
export function stackBars(bars: readonly Bar[]): readonly (readonly number[])[] {
  return [
    bars.map(totalTokens),
    bars.map(({ uncachedInput, cachedInput }) => uncachedInput + cachedInput),
    bars.map(({ uncachedInput }) => uncachedInput),
  ];
}

export function describeLargest(bars: readonly Bar[]): string {
  const [largest] = bars
    .filter(({ isRest }) => isRest !== true)
    .toSorted((one, other) => totalTokens(other) - totalTokens(one));
  if (largest === undefined) return "no tokens";
  return `Most: ${largest.label}, ${formatCount(totalTokens(largest))} tokens`;
}

export function describeBar({ label, uncachedInput, cachedInput, output }: Bar): string {
  const counts = [uncachedInput, cachedInput, output].map(formatCount);
  return `${label}: ${counts[0]} input not cached, ${counts[1]} cached, ${counts[2]} output`;
}
