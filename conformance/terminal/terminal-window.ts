import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTemporaryFolder, stopProgramsOf } from "@hearth-and-keep/test-servers";
import { expect } from "vitest";

export type TerminalWindow = AsyncDisposable & {
  /** A temporary folder, which is the home and the working directory. */
  readonly home: string;
  type(text: string): void;
  /** Pastes like the middle mouse button, with bracketed-paste markers if the program has enabled them. */
  paste(text: string): void;
  /** Key names of tmux, e.g. Enter, C-c, Up. */
  press(...keys: readonly string[]): void;
  /** Copies all output of the window to a file. */
  record(file: string): void;
  /** A format variable of tmux, e.g. `pane_pid`. */
  tmuxVariable(name: string): string;
  resize(columns: number, rows: number): void;
  /** The visible text, without trailing empty lines. */
  read(): string;
  /** The visible text and the scrollback. */
  readAll(): string;
  /** The visible text with its colour sequences. */
  readColours(): string;
  /** Waits until the visible text matches, and returns it. */
  waitFor(pattern: RegExp | string, seconds?: number): Promise<string>;
};

export const program = fileURLToPath(new URL("../../apps/hearth/bin/hearth.js", import.meta.url));

export type WindowOptions = {
  readonly environment?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
};

/** Opens a shell in its own tmux server, with `hearth` as a command. */
export async function openTerminal({
  environment = {},
  columns = 80,
  rows = 24,
}: WindowOptions): Promise<TerminalWindow> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await makeTemporaryFolder("terminal"));
  // Background servers outlive the window.
  stack.defer(() => stopProgramsOf(folder.path));
  const socket = join(folder.path, "tmux");
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], { encoding: "utf8" });
  const variables = { HOME: folder.path, PS1: "$ ", LANG: "C.UTF-8", LC_ALL: "C.UTF-8", ...environment };
  const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const defineHearth = `hearth() { "${process.execPath}" "${program}" "$@"; }`;
  const size = ["-x", String(columns), "-y", String(rows)];
  // Colour settings of the test run must not affect the window.
  const unset = ["CI", "NO_COLOR", "FORCE_COLOR"].flatMap((name) => ["-u", name]);
  const shell = ["env", ...unset, ...assignments, "bash", "--norc", "--noprofile"];
  tmux("new-session", "-d", ...size, "-c", folder.path, ...shell);
  stack.defer(() => void tmux("kill-server"));
  const read = (): string => tmux("capture-pane", "-p").replace(/\s+$/u, "");
  const waitFor = async (pattern: RegExp | string, seconds = 20): Promise<string> => {
    await expect.poll(read, { timeout: seconds * 1000, interval: 50 }).toMatch(pattern);
    return read();
  };
  await waitFor("$");
  tmux("send-keys", "-l", `${defineHearth}; clear`);
  tmux("send-keys", "Enter");
  await waitFor(/^\$$/u);
  const opened = stack.move();
  return {
    home: folder.path,
    type: (text) => void tmux("send-keys", "-l", text),
    paste: (text) => {
      tmux("set-buffer", "--", text);
      tmux("paste-buffer", "-p", "-r", "-d");
    },
    press: (...keys) => void tmux("send-keys", ...keys),
    record: (file) => void tmux("pipe-pane", `cat > "${file}"`),
    tmuxVariable: (name) => tmux("display-message", "-p", `#{${name}}`).trim(),
    resize: (width, height) => void tmux("resize-window", "-x", String(width), "-y", String(height)),
    read,
    readAll: () => tmux("capture-pane", "-p", "-S", "-", "-J").replace(/\s+$/u, ""),
    readColours: () => tmux("capture-pane", "-p", "-e"),
    waitFor,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export type ChatOptions = {
  readonly url: string;
  /** Arguments of `hearth run`. */
  readonly args?: string;
  readonly columns?: number;
};

/** Opens a chat and waits for its prompt. */
export async function openChatAt({ url, args = "tiny", columns = 80 }: ChatOptions): Promise<TerminalWindow> {
  const window = await openTerminal({ environment: { HEARTH_HOST: url }, columns });
  window.type(`hearth run ${args}`);
  window.press("Enter");
  await window.waitFor(/>>>$/u);
  return window;
}
