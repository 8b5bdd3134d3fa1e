import { errorScreen } from "./screen.ts";
import { wrapToWidth } from "./text-width.ts";

/** Wraps between words in a terminal; elsewhere the text stays on one line, so that it can be searched for. */
export function printToStderr(text: string): void {
  const columns = errorScreen.isTerminal ? errorScreen.columns() - 1 : Number.MAX_SAFE_INTEGER;
  for (const line of wrapToWidth(text, columns)) errorScreen.writeLine(line);
}

type UsageErrorOptions = {
  readonly write: (text: string) => void;
  readonly program: string;
  /** The command whose arguments are wrong, if it exists. */
  readonly command: string | undefined;
};

/** Rewrites the argument parser's error in the format of all our errors. */
export function reportUsageError(text: string, { write, program, command }: UsageErrorOptions): void {
  const [first = "", ...suggestions] = text.trimEnd().split("\n");
  const message = first
    .slice(first.indexOf(":") + 1)
    .trim()
    .replaceAll("'", '"');
  write(`${message.charAt(0).toUpperCase()}${message.slice(1)}\n`);
  for (const suggestion of suggestions) write(`${suggestion.replace(/^\(|\)$/gu, "")}\n`);
  write(`Next: see ${program} ${command === undefined ? "" : `${command} `}--help\n`);
}
