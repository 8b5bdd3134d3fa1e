/** First process of a program in the sandbox: connects its loopback interface with the proxy outside, and starts it. */
import { type ChildProcess, spawn } from "node:child_process";
import { connect, createServer, Socket } from "node:net";
import { constants } from "node:os";
import { createInterface } from "node:readline";

const [socketFile = "", port = "", program = "", ...args] = process.argv.slice(2);
const controlDescriptor = 3;

const server = createServer({ allowHalfOpen: true }, (inside) => {
  const outside = connect({ path: socketFile, allowHalfOpen: true });
  join(inside, outside);
  join(outside, inside);
});
server.listen(Number(port), "127.0.0.1", start);

function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on("error", () => to.destroy());
  from.on("close", () => to.destroySoon());
}

function start(): void {
  const child = spawn(program, args, { stdio: "inherit" });
  obeySignals(child);
  child.on("error", (error: NodeJS.ErrnoException) => {
    if (child.pid !== undefined) return;
    const isMissing = error.code === "ENOENT";
    process.stderr.write(`Program "${program}" ${isMissing ? "not found" : "cannot be executed"}\n`);
    process.exit(isMissing ? 127 : 126);
  });
  child.on("exit", (code, signal) =>
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
  );
}

/** One name per line. All processes are stopped while a person is asked, so that none reads what is typed. */
function obeySignals(child: ChildProcess): void {
  createInterface({ input: new Socket({ fd: controlDescriptor, writable: false }) }).on("line", (name) => {
    if (!isSignal(name)) return;
    try {
      if (name === "SIGSTOP" || name === "SIGCONT") process.kill(-1, name);
      else child.kill(name);
    } catch {
      // There is no other process any more.
    }
  });
}

function isSignal(text: string): text is NodeJS.Signals {
  return text in constants.signals;
}
