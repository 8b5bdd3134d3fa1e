const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const whole = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

const minute = 60_000;
const hour = 60 * minute;

/** How long ago, in few letters; the exact moment is in its title. */
export function Moment({ at }: { readonly at: string }) {
  const moment = new Date(at);
  return (
    <time dateTime={at} title={whole.format(moment)}>
      {sayWhen(moment, new Date())}
    </time>
  );
}

export function sayWhen(moment: Date, now: Date): string {
  const passed = now.getTime() - moment.getTime();
  if (passed < minute) return "just now";
  if (passed < hour) return `${Math.floor(passed / minute)} min ago`;
  if (passed < 24 * hour) return `${Math.floor(passed / hour)} h ago`;
  return (moment.getFullYear() === now.getFullYear() ? day : dayAndYear).format(moment);
}
