import { sayWhen } from "./moment.tsx";

const until = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const whole = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "medium" });
const dayOnly = new Intl.DateTimeFormat("en", { dateStyle: "long" });

const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;

/** When something happened or will; exactly when, for those who point at it, reach it by keyboard or have it read. */
export function ExactMoment({ at }: { readonly at: string }) {
  const moment = new Date(at);
  const isAhead = moment.getTime() > Date.now();
  return (
    <time className="moment" dateTime={at} data-exact={whole.format(moment)} tabIndex={0}>
      {isAhead ? sayAhead(moment, new Date()) : sayWhen(moment, new Date())}
      <span className="hidden-to-sight">, {whole.format(moment)}</span>
    </time>
  );
}

/** "tomorrow", "in 5 days"; for what is further away the day itself says more. */
export function sayAhead(moment: Date, now: Date): string {
  const seconds = (moment.getTime() - now.getTime()) / 1000;
  if (seconds < hourSeconds) return "within an hour";
  if (seconds < daySeconds) return until.format(Math.round(seconds / hourSeconds), "hour");
  if (seconds < 14 * daySeconds) return until.format(Math.round(seconds / daySeconds), "day");
  return `on ${dayOnly.format(moment)}`;
}

export function sayDay(moment: Date): string {
  return dayOnly.format(moment);
}
