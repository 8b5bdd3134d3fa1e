import { InvalidValueError, type Setting, type SettingDescription } from "./setting.ts";

const maxLength = 4096;

/**
 * A program with its arguments, run without a shell. Spaces separate them, except within single or double quotes; no
 * other character has a meaning.
 */
export function commandSetting(described: SettingDescription): Setting<readonly string[] | undefined> {
  return { ...described, defaultValue: undefined, defaultText: "none", isSecret: false, parse: parseCommand };
}

const words = /(?:[^\s"']|"[^"]*"|'[^']*')+/gu;
const quoted = /"([^"]*)"|'([^']*)'/gu;

function parseCommand(text: string): readonly string[] {
  if (text.length > maxLength) throw new InvalidValueError(`must have at most ${maxLength} characters`);
  if (text.replaceAll(words, "").trim() !== "")
    throw new InvalidValueError("has a quote that does not end; quotes separate arguments with spaces");
  const found = (text.match(words) ?? []).map((word) => word.replaceAll(quoted, "$1$2"));
  if (found[0] === undefined || found[0] === "") throw new InvalidValueError("must name a program");
  if (found.some((word) => word.includes("\0"))) throw new InvalidValueError("must not contain NUL");
  return found;
}
