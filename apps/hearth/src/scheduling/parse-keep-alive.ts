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
/** Go's maximum duration; anything longer means forever. */
const maxSeconds = 2 ** 63 / 1e9;
const bareNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)$/u;
const duration = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/u;
const durationComponent = /(?<count>\d+\.?\d*|\.\d+)(?<unit>[a-zµμ]+)/gu;

/**
 * Parses a client's keep-alive: a number or a numeric string is in seconds; other strings are Go durations, e.g.
 * "1h30m". A negative value means forever. Undefined if it is invalid.
 */
export function parseKeepAlive(keepAlive: string | number): KeepAlive | undefined {
  const seconds = typeof keepAlive === "number" ? keepAlive : parseSeconds(keepAlive);
  if (Number.isNaN(seconds)) return undefined;
  return seconds < 0 || seconds > maxSeconds ? "forever" : seconds;
}

function parseSeconds(text: string): number {
  if (bareNumber.test(text)) return Number(text);
  if (!duration.test(text)) return Number.NaN;
  const components = [...text.matchAll(durationComponent)].map(
    ({ groups }) => Number(groups?.["count"]) * (secondsIn[groups?.["unit"] ?? ""] ?? 0),
  );
  const seconds = components.reduce((sum, each) => sum + each, 0);
  return text.startsWith("-") ? -seconds : seconds;
}
