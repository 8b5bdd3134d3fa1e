import { createInterface, type Interface } from "node:readline";
import { Readable } from "node:stream";
import type { Stroke } from "./bracketed-paste.ts";
import { openKeyboard } from "./keyboard.ts";
import { appendToHistory, mostHistoryLines, readHistory } from "./typed-history.ts";

type Typed =
  | { readonly kind: "text"; readonly text: string }
  /** Ctrl-C; `isEmpty` when nothing had been typed. */
  | { readonly kind: "interrupt"; readonly isEmpty: boolean }
  /** Ctrl-D. */
  | { readonly kind: "end" };

export type PromptLine = Disposable & {
  /** Keys that came since the last line are pressed first. */
  read(prompt: string): Promise<Typed>;
  /** Keeps a line for the next time, unless it starts with a space. */
  remember(line: string): void;
  /** Until disposed, Ctrl-C calls back, and what else is typed waits for the next line. */
  watchInterrupt(interrupt: () => void): Disposable;
  keepsHistory: boolean;
};

const mostLineCharacters = 10_000;
const mostWaitingStrokes = 10_000;
const interruptKey = "\u0003";
const lineKey = "\r";
/** Before the lines of a pasted text that follow its first. */
const nextLinePrompt = "... ";

/** Line editing on this terminal, with a history that only its owner can read. */
export function openPromptLine(historyFile: string): PromptLine {
  const history = readHistory(historyFile);
  const waiting: Stroke[] = [];
  let reader: LineReader | undefined;
  let interrupt: (() => void) | undefined;
  const press = (): void => {
    while (waiting.length > 0) {
      const open = reader;
      if (open === undefined) return;
      open.press(waiting.shift());
    }
  };
  const onStroke = (stroke: Stroke): void => {
    const isInterrupt = stroke.kind === "keys" && stroke.text.endsWith(interruptKey) && reader === undefined;
    // Nobody watches a short work; then it ends everything, as it does in every program.
    if (isInterrupt && interrupt === undefined) process.kill(process.pid, "SIGINT");
    if (isInterrupt) interrupt?.();
    const kept = isInterrupt ? { ...stroke, text: stroke.text.slice(0, -1) } : stroke;
    if (waiting.length < mostWaitingStrokes) waiting.push(kept);
    press();
  };
  const keyboard = openKeyboard({ onStroke, onEnd: () => reader?.close() });
  const line: PromptLine = {
    keepsHistory: true,
    read: (prompt) =>
      new Promise((resolve) => {
        const onTyped = (typed: Typed): void => {
          reader = undefined;
          resolve(typed);
        };
        reader = openLineReader({ prompt, history, onTyped, suspend: keyboard.suspend });
        press();
      }),
    remember(text) {
      if (!line.keepsHistory || text.startsWith(" ") || text.trim() === "" || text.includes("\n")) return;
      if (text.length > mostLineCharacters || text === history[0]) return;
      history.unshift(text);
      appendToHistory(historyFile, text);
    },
    watchInterrupt(onInterrupt) {
      interrupt = onInterrupt;
      return { [Symbol.dispose]: () => void (interrupt = undefined) };
    },
    [Symbol.dispose]: () => keyboard[Symbol.dispose](),
  };
  return line;
}

type LineReader = { press(stroke: Stroke | undefined): void; close(): void };

type Reading = {
  readonly prompt: string;
  readonly history: readonly string[];
  readonly onTyped: (typed: Typed) => void;
  readonly suspend: (onContinue: () => void) => void;
};

/** Reads one message. Keys are given to it one line at a time, so that none is lost when it ends. */
function openLineReader({ prompt, history, onTyped, suspend }: Reading): LineReader {
  const keys = new Readable({ read: () => undefined });
  const reader = createInterface({
    input: keys,
    output: process.stdout,
    prompt,
    history: [...history],
    historySize: mostHistoryLines,
    terminal: true,
  });
  const lines: string[] = [];
  let isPasting = false;
  let isDone = false;
  const finish = (typed: Typed): void => {
    if (isDone) return;
    isDone = true;
    reader.close();
    onTyped(typed);
  };
  reader.on("line", (text) => {
    lines.push(text);
    if (!isPasting) return finish({ kind: "text", text: lines.join("\n").replace(/\n+$/u, "") });
    reader.setPrompt(nextLinePrompt);
    reader.prompt();
  });
  reader.on("SIGINT", () => {
    process.stdout.write("\n");
    finish({ kind: "interrupt", isEmpty: reader.line === "" && lines.length === 0 });
  });
  reader.on("SIGTSTP", () => suspend(() => reader.prompt(true)));
  reader.on("close", () => finish({ kind: "end" }));
  reader.prompt();
  return {
    close: () => reader.close(),
    press(stroke) {
      if (stroke?.kind === "keys") keys.emit("data", stroke.text);
      isPasting = true;
      if (stroke?.kind === "paste") paste(stroke.text, { reader, keys });
      isPasting = false;
    },
  };
}

type Pasting = { readonly reader: Interface; readonly keys: Readable };

/** A line at once: letter by letter a long one would take the square of its length. */
function paste(text: string, { reader, keys }: Pasting): void {
  for (const [index, line] of text.split("\n").entries()) {
    if (index > 0) keys.emit("data", lineKey);
    if (line !== "") reader.write(line);
  }
}
