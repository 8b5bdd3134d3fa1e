import { readFileSync } from "node:fs";
import { isatty } from "node:tty";

/** `isDelivered` when a terminal has sent it to the program too. */
type SignalTarget = (signal: NodeJS.Signals, isDelivered: boolean) => void;

export type SignalPassing = Disposable & {
  /** From now on, signals go there. */
  readonly passTo: (target: SignalTarget) => void;
};

const isWindows = process.platform === "win32";
const plainSignals: readonly NodeJS.Signals[] = isWindows
  ? ["SIGTERM", "SIGHUP"]
  : ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGIO"];
/** A terminal, or its shell, sends them to the whole group of processes. */
const keyboardSignals: readonly NodeJS.Signals[] = isWindows
  ? ["SIGINT"]
  : ["SIGINT", "SIGQUIT", "SIGWINCH", "SIGCONT"];
/** Their default action does not end a program. */
const harmlessSignals: ReadonlySet<NodeJS.Signals> = new Set(["SIGCONT", "SIGWINCH"]);

/**
 * Passes signals on. Before there is a program, they end this process, after the cleanup. Also keeps Node from opening its
 * debugger at SIGUSR1.
 */
export function passSignals(cleanUp: () => void): SignalPassing {
  let target: SignalTarget = (signal) => {
    if (harmlessSignals.has(signal)) return;
    cleanUp();
    endBySignal(signal);
  };
  const pass = (signal: NodeJS.Signals): void => target(signal, false);
  const passKeyboard = (signal: NodeJS.Signals): void => target(signal, isInForeground());
  for (const signal of plainSignals) process.on(signal, pass);
  for (const signal of keyboardSignals) process.on(signal, passKeyboard);
  return {
    passTo: (next) => {
      target = next;
    },
    [Symbol.dispose]: () => {
      for (const signal of plainSignals) process.off(signal, pass);
      for (const signal of keyboardSignals) process.off(signal, passKeyboard);
    },
  };
}

/** As the program that got the signal would end, so that a shell ends its loop too. Process 1 of a container goes on. */
export function endBySignal(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** A terminal sends the signals of its keys to all processes of its foreground group: to the program as well. */
function isInForeground(): boolean {
  const [, ...fields] = readStat().split(") ");
  const [, , group, , , foregroundGroup] = fields.join(") ").split(" ");
  // Not `process.stdin`, which would make the input that the program has too non-blocking.
  return group === undefined ? isatty(0) || isatty(2) : group === foregroundGroup;
}

/** `pid (name) state parent group session terminal foreground-group …`; empty without Linux. */
function readStat(): string {
  try {
    return readFileSync("/proc/self/stat", "utf8");
  } catch {
    return "";
  }
}
