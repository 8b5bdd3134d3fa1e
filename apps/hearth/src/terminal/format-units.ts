const units = ["B", "KB", "MB", "GB", "TB"];

/** Decimal units, as Ollama and disk vendors use. */
export function formatBytes(bytes: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** step;
  return `${value < 10 && step > 0 ? value.toFixed(1) : value.toFixed(0)} ${units[step]}`;
}

/** E.g. "2h 5m", "3m 10s", "4.2s" and "45s". */
export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)}s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${whole % 60}s` : `${whole}s`;
}

const timeUnits: readonly (readonly [seconds: number, name: string])[] = [
  [31_557_600, "year"],
  [2_629_800, "month"],
  [604_800, "week"],
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** E.g. "3 days ago" and "4 minutes from now". */
export function formatRelativeTime(date: Date, now = Date.now()): string {
  const seconds = (now - date.getTime()) / 1000;
  const distance = Math.abs(seconds);
  const [unit, name] = timeUnits.find(([unitSeconds]) => distance >= unitSeconds) ?? [1, "second"];
  const count = Math.floor(distance / unit);
  if (count === 0) return "now";
  return `${count} ${name}${count === 1 ? "" : "s"} ${seconds >= 0 ? "ago" : "from now"}`;
}

/** E.g. 135M and 8.0B. */
export function formatParameterCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  return count >= 1e6 ? `${(count / 1e6).toFixed(0)}M` : String(count);
}
