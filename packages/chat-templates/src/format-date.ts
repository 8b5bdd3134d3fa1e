const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = "January February March April May June July August September October November December".split(
  " ",
);

const fields: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => dayOf(date).slice(0, 3),
  A: dayOf,
  b: (date) => monthOf(date).slice(0, 3),
  B: monthOf,
  d: (date) => twoDigits(date.getDate()),
  e: (date) => String(date.getDate()).padStart(2, " "),
  F: (date) => formatDate(date, "%Y-%m-%d"),
  H: (date) => twoDigits(date.getHours()),
  I: (date) => twoDigits(hourOf(date)),
  j: (date) => String(dayOfYear(date)).padStart(3, "0"),
  m: (date) => twoDigits(date.getMonth() + 1),
  M: (date) => twoDigits(date.getMinutes()),
  p: (date) => (date.getHours() < 12 ? "AM" : "PM"),
  S: (date) => twoDigits(date.getSeconds()),
  T: (date) => formatDate(date, "%H:%M:%S"),
  y: (date) => twoDigits(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  "%": () => "%",
};

/** C's strftime in English and local time; unknown fields are left unchanged. */
export function formatDate(date: Date, format: string): string {
  return format.replaceAll(/%-?(?<field>[A-Za-z%])/gu, (written, field: string) => {
    const value = Object.hasOwn(fields, field) ? fields[field]?.(date) : undefined;
    if (value === undefined) return written;
    // GNU's `%-d` form has no padding.
    return written.startsWith("%-") ? value.replace(/^[0 ]+(?=\d)/u, "") : value;
  });
}

function dayOf(date: Date): string {
  return days[date.getDay()] ?? "";
}

function monthOf(date: Date): string {
  return months[date.getMonth()] ?? "";
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

function hourOf(date: Date): number {
  return date.getHours() % 12 || 12;
}

function dayOfYear(date: Date): number {
  const midnight = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (midnight - Date.UTC(date.getFullYear(), 0, 1)) / 86_400_000 + 1;
}
