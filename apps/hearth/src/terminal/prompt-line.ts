import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";

type Typed =
  | { readonly kind: "text"; readonly text: string }
  /** Ctrl-C; `isEmpty` when nothing had been typed. */
  | { readonly kind: "interrupt"; readonly isEmpty: boolean }
  /** Ctrl-D. */
  | { readonly kind: "end" };

export type PromptLine = {
  read(prompt: string): Promise<Typed>;
  /** Keeps a line for the next time, unless it starts with a space. */
  remember(line: string): void;
  /** Until disposed, Ctrl-C calls back, and what else is typed waits for the next line. */
  watchInterrupt(interrupt: () => void): Disposable;
  keepsHistory: boolean;
};

const mostLines = 1000;
const mostLineCharacters = 10_000;
/** Lines that come together were pasted, and are one message. */
const pasteMilliseconds = 15;
const interruptKey = "\u0003";

/** Line editing on this terminal, with a history that only its owner can read. */
export function openPromptLine(historyFile: string): PromptLine {
  const history = readHistory(historyFile);
  let typedAhead = "";
  const line: PromptLine = {
    keepsHistory: true,
    read(prompt) {
      const typed = typedAhead;
      typedAhead = "";
      return readTyped(prompt, { history, typed });
    },
    remember(text) {
      if (!line.keepsHistory || text.startsWith(" ") || text.trim() === "" || text.includes("\n")) return;
      if (text.length > mostLineCharacters || text === history[0]) return;
      history.unshift(text);
      appendLine(historyFile, text);
    },
    watchInterrupt: (interrupt) =>
      watchKeys((keys) => {
        if (keys.includes(interruptKey)) interrupt();
        else typedAhead += keys;
      }),
  };
  return line;
}

type Editing = { readonly history: readonly string[]; readonly typed: string };

function readTyped(prompt: string, { history, typed }: Editing): Promise<Typed> {
  return new Promise((resolve) => {
    const reader = createInterface({
      input: process.stdin,
      output: process.stdout,
      prompt,
      history: [...history],
      historySize: mostLines,
      terminal: true,
    });
    const lines: string[] = [];
    let timer: NodeJS.Timeout | undefined;
    const finish = (answer: Typed): void => {
      clearTimeout(timer);
      resolve(answer);
      reader.close();
    };
    reader.on("line", (line) => {
      lines.push(line);
      clearTimeout(timer);
      timer = setTimeout(() => {
        // The end of what was pasted may still be edited.
        if (reader.line === "") finish({ kind: "text", text: lines.join("\n") });
      }, pasteMilliseconds);
    });
    reader.on("SIGINT", () => {
      process.stdout.write("\n");
      finish({ kind: "interrupt", isEmpty: reader.line === "" && lines.length === 0 });
    });
    // Also after the others, when it has no effect any more.
    reader.on("close", () => resolve({ kind: "end" }));
    reader.prompt();
    if (typed !== "") reader.write(typed);
  });
}

function watchKeys(onKeys: (keys: string) => void): Disposable {
  const { stdin } = process;
  const take = (bytes: Buffer): void => onKeys(bytes.toString("utf8"));
  stdin.setRawMode(true);
  stdin.on("data", take);
  stdin.resume();
  return {
    [Symbol.dispose]: () => {
      stdin.off("data", take);
      stdin.pause();
      stdin.setRawMode(false);
    },
  };
}

/** The newest first, as line editors want it. */
function readHistory(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).slice(-mostLines).toReversed();
  } catch {
    return [];
  }
}

/** A history that cannot be kept keeps nobody from chatting. */
function appendLine(file: string, line: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    if (lines.length > 2 * mostLines) writeFileSync(file, `${lines.slice(-mostLines).join("\n")}\n`);
  } catch {
    // Told nowhere: the disk may be full or the folder somebody else's.
  }
}
