import { styleText } from "node:util";

/** Where we write to, and what it can show. */
export type Screen = {
  /** A window that a person looks at; otherwise a pipe or a file, which gets plain lines. */
  readonly isTerminal: boolean;
  readonly columns: () => number;
  readonly rows: () => number;
  readonly write: (text: string) => void;
  readonly line: (text?: string) => void;
  /** Colours where the terminal has them and neither NO_COLOR nor a pipe forbids; FORCE_COLOR wins. */
  readonly style: (format: Style, text: string) => string;
};

type Style =
  | "bold"
  | "dim"
  | "italic"
  | "underline"
  | "strikethrough"
  | "red"
  | "green"
  | "yellow"
  | "cyan"
  | "magenta";

const usualColumns = 80;
const usualRows = 24;

function openScreen(stream: NodeJS.WriteStream): Screen {
  return {
    isTerminal: stream.isTTY,
    columns: () => Math.max(20, stream.columns ?? usualColumns),
    rows: () => Math.max(4, stream.rows ?? usualRows),
    write: (text) => void stream.write(text),
    line: (text = "") => void stream.write(`${text}\n`),
    style: (format, text) => (text === "" ? "" : styleText(format, text, { stream })),
  };
}

export const screen = openScreen(process.stdout);
export const errorScreen = openScreen(process.stderr);
