const units = ["B", "KB", "MB", "GB", "TB"];

/** In thousands, as disks and other programs of this kind count. */
export function tellBytes(bytes: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** step;
  return `${value < 10 && step > 0 ? value.toFixed(1) : value.toFixed(0)} ${units[step]}`;
}

/** As in "2h 5m", "3m 10s", "4.2s" and "45s". */
export function tellSeconds(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)}s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${whole % 60}s` : `${whole}s`;
}

const ages: readonly (readonly [seconds: number, word: string])[] = [
  [31_557_600, "year"],
  [2_629_800, "month"],
  [604_800, "week"],
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** As in "3 days ago" and "4 minutes from now". */
export function tellAge(date: Date, now = Date.now()): string {
  const seconds = (now - date.getTime()) / 1000;
  const size = Math.abs(seconds);
  const [unit, word] = ages.find(([least]) => size >= least) ?? [1, "second"];
  const count = Math.floor(size / unit);
  if (count === 0) return "now";
  return `${count} ${word}${count === 1 ? "" : "s"} ${seconds >= 0 ? "ago" : "from now"}`;
}

/** As in 135M and 8.0B. */
export function tellCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  return count >= 1e6 ? `${(count / 1e6).toFixed(0)}M` : String(count);
}
