/**
 * Whether an object in the JSON text has two members of one name. Parsers differ in which of them they take, so the
 * issuer that signed the text may have meant the other one. The text must be valid JSON.
 */
export function hasRepeatedMember(json: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  // Strings, with the colon after those that are names, and brackets; nothing else matters.
  for (const [token, , colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[[\]{}]/gsu)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(undefined);
    else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const names = open.at(-1);
      // A string of valid JSON.
      const name = JSON.parse(token.slice(0, -colon.length)) as string;
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
  }
  return false;
}
