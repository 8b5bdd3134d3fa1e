import { StringDecoder } from "node:string_decoder";
import { KeyIntake, type Stroke } from "./bracketed-paste.ts";

export type Keyboard = Disposable & {
  /** Gives the terminal back until this process is continued. */
  readonly suspend: (onContinue: () => void) => void;
};

type KeyboardPlan = {
  readonly onStroke: (stroke: Stroke) => void;
  /** The terminal is gone. */
  readonly onEnd: () => void;
};

const startPasteMarks = "\u001B[?2004h";
const endPasteMarks = "\u001B[?2004l";
/** What ends this process without Node's telling it beforehand. */
const endingSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Every key as it is pressed, and pasted text with marks, until disposed; the terminal is left as it was found. */
export function openKeyboard({ onStroke, onEnd }: KeyboardPlan): Keyboard {
  const { stdin } = process;
  const intake = new KeyIntake(onStroke);
  const decoder = new StringDecoder("utf8");
  const take = (bytes: Buffer): void => intake.take(decoder.write(bytes));
  const end = (signal: NodeJS.Signals): void => {
    giveBack();
    for (const each of endingSignals) process.off(each, end);
    process.kill(process.pid, signal);
  };
  takeOver();
  stdin.on("data", take).on("end", onEnd).on("error", onEnd).resume();
  process.on("exit", giveBack);
  for (const signal of endingSignals) process.on(signal, end);
  return {
    suspend(onContinue) {
      giveBack();
      process.once("SIGCONT", () => {
        takeOver();
        onContinue();
      });
      process.kill(process.pid, "SIGTSTP");
    },
    [Symbol.dispose]: () => {
      intake.close();
      giveBack();
      stdin.off("data", take).off("end", onEnd).off("error", onEnd).pause();
      process.off("exit", giveBack);
      for (const signal of endingSignals) process.off(signal, end);
    },
  };
}

function takeOver(): void {
  process.stdin.setRawMode(true);
  process.stdout.write(startPasteMarks);
}

function giveBack(): void {
  try {
    process.stdout.write(endPasteMarks);
    process.stdin.setRawMode(false);
  } catch {
    // The window is closed, and nobody types in it any more.
  }
}
