// An import would load everything that the module offers, e.g. workers, which takes 10 ms.
const { styleText } = process.getBuiltinModule("node:util");

/** An output stream and its capabilities. */
export type Screen = {
  /** False for a pipe or a file, which receives plain lines. */
  readonly isTerminal: boolean;
  readonly columns: () => number;
  readonly rows: () => number;
  readonly write: (text: string) => void;
  readonly writeLine: (text?: string) => void;
  /** Applies a style if the terminal supports it; NO_COLOR and pipes turn styles off, FORCE_COLOR turns them on. */
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

const defaultColumns = 80;
const defaultRows = 24;

function openScreen(stream: NodeJS.WriteStream): Screen {
  return {
    isTerminal: stream.isTTY,
    columns: () => Math.max(20, stream.columns ?? defaultColumns),
    rows: () => Math.max(4, stream.rows ?? defaultRows),
    write: (text) => void stream.write(text),
    writeLine: (text = "") => void stream.write(`${text}\n`),
    style: (format, text) => (text === "" ? "" : styleText(format, text, { stream })),
  };
}

export const screen = openScreen(process.stdout);
export const errorScreen = openScreen(process.stderr);
