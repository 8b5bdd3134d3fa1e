/**
 * @module
 * What a person sees: text made safe and measured, tables, bars, Markdown as it comes, the line they type on, and how
 * a failure is told. Promises that nothing a model or a server says reaches the terminal as a command to it, and that
 * a window's width is kept to. Knows no HTTP. Imported by `commands/` and `main.ts`.
 */

/** Everything a terminal takes for more than text, but line ends. */
const controls =
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/**
 * Text of models, servers and files may hold sequences that colour, move, retitle or even type; it may hide text by
 * turning its direction. What does so is shown as a sign of its own, so that one sees that it was there.
 */
export function makeSafe(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").replaceAll(controls, showControl);
}

/** The same for what must stay on one line. */
export function makeSafeLine(text: string): string {
  return makeSafe(text).replaceAll(/\n+/gu, " ");
}

function showControl(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // Unicode has pictures of the oldest ones, as ␛ for the one that starts sequences.
  if (code < 0x20) return String.fromCodePoint(0x24_00 + code);
  return code === 0x7f ? "␡" : "�";
}
