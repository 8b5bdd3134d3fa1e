import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endProgramsOf, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect } from "vitest";

export type TerminalWindow = AsyncDisposable & {
  /** A folder of its own, which is also the person's home. */
  readonly home: string;
  type(text: string): void;
  /** As the middle button of a mouse does: with marks around it where the program has asked for them. */
  paste(text: string): void;
  /** Names of tmux, as in Enter, C-c, Up. */
  press(...keys: readonly string[]): void;
  /** Writes whatever the programs in it write into a file. */
  record(file: string): void;
  /** What tmux knows of the window, as in `pane_pid`. */
  knows(fact: string): string;
  resize(columns: number, rows: number): void;
  /** What a person sees, without empty lines at the end. */
  read(): string;
  /** With what has scrolled out at the top. */
  readAll(): string;
  /** With the sequences that colour it. */
  readColours(): string;
  /** Waits until the screen shows it, and gives the screen. */
  waitFor(pattern: RegExp | string, seconds?: number): Promise<string>;
};

export const program = fileURLToPath(new URL("../../apps/hearth/bin/hearth.js", import.meta.url));

export type WindowPlan = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
};

/** A real terminal: a shell inside a tmux of its own, in which `hearth` is a command. */
export async function openTerminal({
  environment = {},
  columns = 80,
  rows = 24,
}: WindowPlan): Promise<TerminalWindow> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTemporaryFolder("terminal"));
  // A server that a command left in the background outlives the window.
  stack.defer(() => endProgramsOf(folder.path));
  const socket = join(folder.path, "tmux");
  const tmux = (...words: readonly string[]): string =>
    execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...words], { encoding: "utf8" });
  const variables = { HOME: folder.path, PS1: "$ ", LANG: "C.UTF-8", LC_ALL: "C.UTF-8", ...environment };
  const words = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const start = `hearth() { "${process.execPath}" "${program}" "$@"; }`;
  const size = ["-x", String(columns), "-y", String(rows)];
  // Whoever runs the tests may have said what they want of colours; the person at this window has not.
  const unsaid = ["CI", "NO_COLOR", "FORCE_COLOR"].flatMap((name) => ["-u", name]);
  const shell = ["env", ...unsaid, ...words, "bash", "--norc", "--noprofile"];
  tmux("new-session", "-d", ...size, "-c", folder.path, ...shell);
  stack.defer(() => void tmux("kill-server"));
  const read = (): string => tmux("capture-pane", "-p").replace(/\s+$/u, "");
  const waitFor = async (pattern: RegExp | string, seconds = 20): Promise<string> => {
    await expect.poll(read, { timeout: seconds * 1000, interval: 50 }).toMatch(pattern);
    return read();
  };
  await waitFor("$");
  tmux("send-keys", "-l", `${start}; clear`);
  tmux("send-keys", "Enter");
  await waitFor(/^\$$/u);
  const kept = stack.move();
  return {
    home: folder.path,
    type: (text) => void tmux("send-keys", "-l", text),
    paste: (text) => {
      tmux("set-buffer", "--", text);
      tmux("paste-buffer", "-p", "-r", "-d");
    },
    press: (...keys) => void tmux("send-keys", ...keys),
    record: (file) => void tmux("pipe-pane", `cat > "${file}"`),
    knows: (fact) => tmux("display-message", "-p", `#{${fact}}`).trim(),
    resize: (width, height) => void tmux("resize-window", "-x", String(width), "-y", String(height)),
    read,
    readAll: () => tmux("capture-pane", "-p", "-S", "-", "-J").replace(/\s+$/u, ""),
    readColours: () => tmux("capture-pane", "-p", "-e"),
    waitFor,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export type ChatPlan = {
  readonly url: string;
  /** Behind `hearth run`. */
  readonly words?: string;
  readonly columns?: number;
};

/** A chat that waits for a question. */
export async function openChatAt({ url, words = "tiny", columns = 80 }: ChatPlan): Promise<TerminalWindow> {
  const window = await openTerminal({ environment: { HEARTH_HOST: url }, columns });
  window.type(`hearth run ${words}`);
  window.press("Enter");
  await window.waitFor(/>>>$/u);
  return window;
}
