/**
 * Formats whose values all have a fixed or small length. "date-time" is not one of them: it allows any number of
 * fractional digits.
 */
const shortFormats = new Set(["uuid", "date", "ipv4", "ipv6"]);

export function isShortFormat(format: unknown): boolean {
  return typeof format === "string" && shortFormats.has(format);
}

/** Whether matches have a maximum length: the pattern is anchored at both ends and has no unbounded repetition. */
export function isBoundedPattern(pattern: string): boolean {
  if (!pattern.startsWith("^") || !/(?:^|[^\\])(?:\\\\)*\$$/u.test(pattern)) return false;
  const skeleton = pattern.replaceAll(/\\./gu, "x").replaceAll(/\[[^\]]*\]/gu, "x");
  return !/[*+]|\{\d+,\}/u.test(skeleton) && !hasTopLevelChoice(skeleton);
}

/** In `^a|b$` each side is anchored at one end only. */
function hasTopLevelChoice(skeleton: string): boolean {
  let depth = 0;
  for (const character of skeleton) {
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (character === "|" && depth === 0) return true;
  }
  return false;
}
