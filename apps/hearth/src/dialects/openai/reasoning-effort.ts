/** Every level that a client may send; some have more than OpenAI. */
export const effortLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"] as const;

/** Chat templates know three levels; the others map to the nearest. */
const templateEfforts: ReadonlyMap<string, "low" | "medium" | "high"> = new Map([
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "high"],
  ["max", "high"],
  ["ultra", "high"],
]);

/** Undefined if the value is not an effort level. */
export function nearestEffort(effort: string): "low" | "medium" | "high" | undefined {
  return templateEfforts.get(effort);
}
