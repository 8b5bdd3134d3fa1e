import { createInterface, type Interface } from "node:readline";
import { Readable } from "node:stream";
import type { TerminalInput } from "./bracketed-paste.ts";
import { openKeyboard } from "./keyboard.ts";
import { appendToHistory, maxHistoryLines, readHistory } from "./prompt-history.ts";

type LineInput =
  | { readonly kind: "text"; readonly text: string }
  /** Ctrl-C; `isEmpty` if nothing was typed before it. */
  | { readonly kind: "interrupt"; readonly isEmpty: boolean }
  /** Ctrl-D. */
  | { readonly kind: "end" };

export type LineEditor = Disposable & {
  /** Reads one line, starting with the input that arrived since the previous line. */
  read(prompt: string): Promise<LineInput>;
  /** Adds a line to the history, unless it starts with a space. */
  addToHistory(line: string): void;
  /** Until disposed, calls back on Ctrl-C; other input is kept for the next line. */
  onInterrupt(interrupt: () => void): Disposable;
  recordsHistory: boolean;
};

const maxLineCharacters = 10_000;
const maxPendingInputs = 10_000;
const interruptKey = "\u0003";
const enterKey = "\r";
/** Prompt of the second and later lines of pasted text. */
const continuationPrompt = "... ";

/** A line editor on this terminal; its history file is readable only by its owner. */
export function openLineEditor(historyFile: string): LineEditor {
  const history = readHistory(historyFile);
  const pending: TerminalInput[] = [];
  let reader: LineReader | undefined;
  let interrupt: (() => void) | undefined;
  const feedPending = (): void => {
    while (pending.length > 0) {
      // Feeding a line may close the reader.
      const current = reader;
      if (current === undefined) return;
      current.feed(pending.shift());
    }
  };
  const onInput = (input: TerminalInput): void => {
    const isInterrupt = input.kind === "keys" && input.text.endsWith(interruptKey) && reader === undefined;
    // Without a handler, Ctrl-C terminates the process as usual.
    if (isInterrupt && interrupt === undefined) process.kill(process.pid, "SIGINT");
    if (isInterrupt) interrupt?.();
    const remaining = isInterrupt ? { ...input, text: input.text.slice(0, -1) } : input;
    if (pending.length < maxPendingInputs) pending.push(remaining);
    feedPending();
  };
  const keyboard = openKeyboard({ onInput, onEnd: () => reader?.close() });
  const editor: LineEditor = {
    recordsHistory: true,
    read: (prompt) =>
      new Promise((resolve) => {
        const onDone = (input: LineInput): void => {
          reader = undefined;
          resolve(input);
        };
        reader = openLineReader({ prompt, history, onDone, suspend: keyboard.suspend });
        feedPending();
      }),
    addToHistory(text) {
      if (!editor.recordsHistory || text.startsWith(" ") || text.trim() === "" || text.includes("\n")) return;
      if (text.length > maxLineCharacters || text === history[0]) return;
      history.unshift(text);
      appendToHistory(historyFile, text);
    },
    onInterrupt(onInterrupt) {
      interrupt = onInterrupt;
      return { [Symbol.dispose]: () => void (interrupt = undefined) };
    },
    [Symbol.dispose]: () => keyboard[Symbol.dispose](),
  };
  return editor;
}

type LineReader = { feed(input: TerminalInput | undefined): void; close(): void };

type LineReaderOptions = {
  readonly prompt: string;
  readonly history: readonly string[];
  readonly onDone: (input: LineInput) => void;
  readonly suspend: (onContinue: () => void) => void;
};

/** Reads one message. It is fed one line at a time, so that input after Enter is not lost when it closes. */
function openLineReader({ prompt, history, onDone, suspend }: LineReaderOptions): LineReader {
  const keys = new Readable({ read: () => undefined });
  const reader = createInterface({
    input: keys,
    output: process.stdout,
    prompt,
    history: [...history],
    historySize: maxHistoryLines,
    terminal: true,
  });
  const lines: string[] = [];
  let isPasting = false;
  let isDone = false;
  const finish = (input: LineInput): void => {
    if (isDone) return;
    isDone = true;
    reader.close();
    onDone(input);
  };
  reader.on("line", (text) => {
    lines.push(text);
    if (!isPasting) return finish({ kind: "text", text: lines.join("\n").replace(/\n+$/u, "") });
    reader.setPrompt(continuationPrompt);
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
    feed(input) {
      if (input?.kind === "keys") keys.emit("data", input.text);
      isPasting = true;
      if (input?.kind === "paste") paste(input.text, { reader, keys });
      isPasting = false;
    },
  };
}

type PasteTarget = { readonly reader: Interface; readonly keys: Readable };

/** Writes whole lines, because character by character readline takes quadratic time. */
function paste(text: string, { reader, keys }: PasteTarget): void {
  for (const [index, line] of text.split("\n").entries()) {
    if (index > 0) keys.emit("data", enterKey);
    if (line !== "") reader.write(line);
  }
}
