/** Encodes JSON byte for byte as Go's encoder does, so that a layer has the same digest whichever program wrote it. */
export function encodeGoJson(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/gu, escapeCharacter)}\n`, "utf8");
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
