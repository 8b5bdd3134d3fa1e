import { callFailure, isCallFailure } from "../server-client/call-failure.ts";
import type { ServerCaller, ServerFlags } from "../server-client/call-server.ts";
import { tellBytes } from "../terminal/measures.ts";
import { type Screen, screen } from "../terminal/screen.ts";
import {
  openTransferProgress,
  type ProgressStep,
  type TransferProgress,
} from "../terminal/transfer-progress.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

export type Move = {
  readonly direction: "pull" | "push";
  readonly model: string;
  readonly isInsecure: boolean;
};

export type MoveCommand = Pick<Move, "direction"> & {
  /** What its one argument is. */
  readonly argument: string;
  /** Said in a terminal when all of it has arrived. */
  readonly ended: (model: string) => string;
};

/** `hearth pull` and `hearth push`. */
export function defineMove({ direction, argument, ended }: MoveCommand): Define {
  return (command) => {
    addServerFlags(
      command
        .argument("<model>", argument)
        .option("--insecure", "speak plain http to a registry that the server lists as private"),
    ).action((model: string, flags: ServerFlags & { readonly insecure?: boolean }) =>
      withServer(flags, async (server) => {
        await moveModel(server, { direction, model, isInsecure: flags.insecure === true });
        if (screen.isTerminal) screen.line(ended(model));
      }),
    );
  };
}

/**
 * Fetches or sends a model and shows how far it is; Ctrl-C leaves it so that it can go on later, and says so. Where an
 * answer goes to standard output, the progress is shown elsewhere.
 */
export async function moveModel(
  server: ServerCaller,
  { direction, model, isInsecure }: Move,
  shownOn: Screen = screen,
): Promise<void> {
  const progress = openTransferProgress(shownOn);
  using interrupt = watchInterrupt();
  try {
    const body = { model, insecure: isInsecure };
    for await (const step of server.stream(`/api/${direction}`, body, interrupt.signal)) {
      // The shape of the family's progress.
      progress.take(step as ProgressStep);
    }
  } catch (problem) {
    if (interrupt.signal.aborted) throw interrupted(progress, { direction, model, isInsecure });
    if (isCallFailure(problem, "server-model-missing") && problem.failure.kind === "server-model-missing") {
      throw callFailure({ ...problem.failure, model }, { cause: problem });
    }
    throw problem;
  } finally {
    progress.end();
  }
}

/** Aborts at Ctrl-C, and at the second one ends as programs do. */
export function watchInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const end = new AbortController();
  const abort = (): void => {
    process.off("SIGINT", abort);
    end.abort();
  };
  process.on("SIGINT", abort);
  return { signal: end.signal, [Symbol.dispose]: () => void process.off("SIGINT", abort) };
}

function interrupted(progress: TransferProgress, { direction, model, isInsecure }: Move): Error {
  const { completed, total } = progress.sums();
  const words = `hearth ${direction} ${model}${isInsecure ? " --insecure" : ""}`;
  if (total === 0) {
    const sentences = ["Stopped before anything of the model was moved", `Next: ${words} begins again`];
    return callFailure({ kind: "interrupted", sentences });
  }
  const kept =
    direction === "pull"
      ? `Stopped: ${tellBytes(completed)} of ${tellBytes(total)} are here and are kept`
      : `Stopped: what the registry has of ${tellBytes(total)}, it keeps`;
  return callFailure({ kind: "interrupted", sentences: [kept, `Next: ${words} goes on from there`] });
}
