const ageUnits: ReadonlyMap<string, number> = new Map([
  ["m", 1],
  ["h", 60],
  ["d", 24 * 60],
]);
const maxMinutes = 30 * 24 * 60;

/** Minutes of an age such as 30m, 8h or 7d, up to the 30 days for which a login lasts; undefined for anything else. */
export function parseAge(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,5})([mhd])$/u.exec(text) ?? [];
  const minutes = Number(count) * (ageUnits.get(unit) ?? Number.NaN);
  return minutes >= 1 && minutes <= maxMinutes ? minutes : undefined;
}

export function formatAge(minutes: number): string {
  const [unit, length] = [...ageUnits].findLast(([, each]) => minutes % each === 0) ?? ["m", 1];
  return `${minutes / length}${unit}`;
}
