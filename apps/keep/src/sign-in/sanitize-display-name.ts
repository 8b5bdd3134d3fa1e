/** Text from a provider as one line without control characters; undefined when nothing is left. */
export function sanitizeDisplayText(text: unknown, maxCharacters: number): string | undefined {
  if (typeof text !== "string") return undefined;
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim();
  // Does not split a surrogate pair.
  const truncated = line.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/u, "");
  return truncated === "" ? undefined : truncated;
}
