/** Control characters except newlines, and Unicode direction overrides. */
const controlCharacters =
  // oxlint-disable-next-line no-control-regex -- matches control characters
  /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/**
 * Replaces control characters with visible symbols. Escape sequences in the text of models, servers and files could
 * otherwise move the cursor, set the window title or inject input, and direction overrides could disguise text.
 */
export function sanitizeText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").replaceAll(controlCharacters, visibleSymbol);
}

/** Like `sanitizeText`, with newlines replaced by spaces. */
export function sanitizeLine(text: string): string {
  return sanitizeText(text).replaceAll(/\n+/gu, " ");
}

function visibleSymbol(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // Unicode has symbols for the C0 controls, e.g. ␛ for Escape.
  if (code < 0x20) return String.fromCodePoint(0x24_00 + code);
  return code === 0x7f ? "␡" : "�";
}
