import { formatTimeAgo } from "./relative-time.tsx";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const dateAndTime = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "medium" });
const dateOnly = new Intl.DateTimeFormat("en", { dateStyle: "long" });

const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;

/** A relative time, past or future, with the exact time on hover, on keyboard focus and for screen readers. */
export function Timestamp({ at }: { readonly at: string }) {
  const date = new Date(at);
  const isFuture = date.getTime() > Date.now();
  return (
    <time className="timestamp" dateTime={at} data-exact={dateAndTime.format(date)} tabIndex={0}>
      {isFuture ? formatTimeUntil(date, new Date()) : formatTimeAgo(date, new Date())}
      <span className="visually-hidden">, {dateAndTime.format(date)}</span>
    </time>
  );
}

/** "tomorrow" or "in 5 days"; from two weeks on, the date. */
export function formatTimeUntil(date: Date, now: Date): string {
  const seconds = (date.getTime() - now.getTime()) / 1000;
  if (seconds < hourSeconds) return "within an hour";
  if (seconds < daySeconds) return relative.format(Math.round(seconds / hourSeconds), "hour");
  if (seconds < 14 * daySeconds) return relative.format(Math.round(seconds / daySeconds), "day");
  return `on ${dateOnly.format(date)}`;
}

export function formatDate(date: Date): string {
  return dateOnly.format(date);
}

export function formatDateAndTime(date: Date): string {
  return dateAndTime.format(date);
}
