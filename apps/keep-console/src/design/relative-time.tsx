const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const dateAndTime = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

const minute = 60_000;
const hour = 60 * minute;

/** A compact "5 min ago" with the exact time as its tooltip. */
export function RelativeTime({ at }: { readonly at: string }) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={dateAndTime.format(date)}>
      {formatTimeAgo(date, new Date())}
    </time>
  );
}

export function formatTimeAgo(date: Date, now: Date): string {
  const elapsed = now.getTime() - date.getTime();
  if (elapsed < minute) return "just now";
  if (elapsed < hour) return `${Math.floor(elapsed / minute)} min ago`;
  if (elapsed < 24 * hour) return `${Math.floor(elapsed / hour)} h ago`;
  return (date.getFullYear() === now.getFullYear() ? day : dayAndYear).format(date);
}
