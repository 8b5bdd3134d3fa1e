/** What a provider says somebody is called, as one line that can be stored and shown; undefined when nothing is left. */
export function shownText(given: unknown, mostCharacters: number): string | undefined {
  if (typeof given !== "string") return undefined;
  const line = given
    .toWellFormed()
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim();
  // Not in the middle of a character.
  const shown = line.slice(0, mostCharacters).replace(/[\uD800-\uDBFF]$/u, "");
  return shown === "" ? undefined : shown;
}
