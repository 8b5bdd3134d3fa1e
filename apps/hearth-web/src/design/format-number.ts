const units = ["", "k", "M", "B", "T"];

/** All digits, e.g. 1,234,567. */
export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** For axes and headlines, e.g. 12.5k or 3.4M; numbers below 10,000 have all digits. */
export function formatCompact(value: number): string {
  if (Math.abs(value) < 10_000) return value.toLocaleString("en", { maximumFractionDigits: 2 });
  // Rounded first, so that 999,999 becomes 1M and not 1,000k.
  const magnitude = Math.log10(Math.abs(Number(value.toPrecision(4))));
  const step = Math.min(units.length - 1, Math.floor(magnitude / 3));
  const amount = value / 1000 ** step;
  return `${amount.toLocaleString("en", { maximumFractionDigits: 1 })}${units[step]}`;
}

/** E.g. 20 ms, 0.31 s or 12 s. */
export function formatSeconds(seconds: number): string {
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  return `${seconds.toFixed(seconds < 9.995 ? 2 : 0)} s`;
}
