import type { KeepAlive } from "./keep-alive.ts";

const secondsIn: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};
/** Go's longest duration; what is longer is for ever. */
const longestSeconds = 2 ** 63 / 1e9;
const bareNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)$/u;
const duration = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/u;
const durationPart = /(?<count>\d+\.?\d*|\.\d+)(?<unit>[a-zµμ]+)/gu;

/**
 * What clients send: a number, or a text of digits alone, is in seconds; other texts are durations as Go writes them,
 * as in "1h30m". Below zero is for ever. Undefined when it is none of these.
 */
export function parseKeepAlive(keepAlive: string | number): KeepAlive | undefined {
  const seconds = typeof keepAlive === "number" ? keepAlive : parseSeconds(keepAlive);
  if (Number.isNaN(seconds)) return undefined;
  return seconds < 0 || seconds > longestSeconds ? "forever" : seconds;
}

function parseSeconds(text: string): number {
  if (bareNumber.test(text)) return Number(text);
  if (!duration.test(text)) return Number.NaN;
  const parts = [...text.matchAll(durationPart)].map(
    ({ groups }) => Number(groups?.["count"]) * (secondsIn[groups?.["unit"] ?? ""] ?? 0),
  );
  const seconds = parts.reduce((sum, part) => sum + part, 0);
  return text.startsWith("-") ? -seconds : seconds;
}
