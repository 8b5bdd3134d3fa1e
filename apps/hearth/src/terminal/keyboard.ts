import { StringDecoder } from "node:string_decoder";
import { InputParser, type TerminalInput } from "./bracketed-paste.ts";

export type Keyboard = Disposable & {
  /** Restores the terminal and suspends this process until it is continued. */
  readonly suspend: (onContinue: () => void) => void;
};

type KeyboardOptions = {
  readonly onInput: (input: TerminalInput) => void;
  /** Called when the terminal is closed. */
  readonly onEnd: () => void;
};

const enableBracketedPaste = "\u001B[?2004h";
const disableBracketedPaste = "\u001B[?2004l";
/** Signals that terminate the process without running `exit` handlers. */
const terminatingSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Reads keys and pasted text in raw mode until disposed, and then restores the terminal. */
export function openKeyboard({ onInput, onEnd }: KeyboardOptions): Keyboard {
  const { stdin } = process;
  const parser = new InputParser(onInput);
  const decoder = new StringDecoder("utf8");
  const onData = (bytes: Buffer): void => parser.feed(decoder.write(bytes));
  const terminate = (signal: NodeJS.Signals): void => {
    restoreTerminal();
    for (const each of terminatingSignals) process.off(each, terminate);
    process.kill(process.pid, signal);
  };
  enterRawMode();
  stdin.on("data", onData).on("end", onEnd).on("error", onEnd).resume();
  process.on("exit", restoreTerminal);
  for (const signal of terminatingSignals) process.on(signal, terminate);
  return {
    suspend(onContinue) {
      restoreTerminal();
      process.once("SIGCONT", () => {
        enterRawMode();
        onContinue();
      });
      process.kill(process.pid, "SIGTSTP");
    },
    [Symbol.dispose]: () => {
      parser.close();
      restoreTerminal();
      stdin.off("data", onData).off("end", onEnd).off("error", onEnd).pause();
      process.off("exit", restoreTerminal);
      for (const signal of terminatingSignals) process.off(signal, terminate);
    },
  };
}

function enterRawMode(): void {
  process.stdin.setRawMode(true);
  process.stdout.write(enableBracketedPaste);
}

function restoreTerminal(): void {
  try {
    process.stdout.write(disableBracketedPaste);
    process.stdin.setRawMode(false);
  } catch {
    // The terminal window is closed.
  }
}
