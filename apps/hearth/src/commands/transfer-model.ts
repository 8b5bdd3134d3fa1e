import { type Screen, screen } from "@hearth-and-keep/terminal";
import { callFailure } from "../server-client/call-failure.ts";
import type { ServerClient, ServerFlags } from "../server-client/server-client.ts";
import { formatBytes } from "../terminal/format-units.ts";
import {
  openTransferProgress,
  type ProgressStep,
  type TransferProgress,
} from "../terminal/transfer-progress.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

export type ModelTransfer = {
  readonly direction: "pull" | "push";
  readonly model: string;
  readonly isInsecure: boolean;
};

export type TransferCommand = Pick<ModelTransfer, "direction"> & {
  /** Help text of its argument. */
  readonly argumentDescription: string;
  /** Printed in a terminal when the transfer is complete. */
  readonly successMessage: (model: string) => string;
};

/** `hearth pull` and `hearth push`. */
export function defineTransferCommand({
  direction,
  argumentDescription,
  successMessage,
}: TransferCommand): DefineCommand {
  return (command) => {
    addServerFlags(
      command
        .argument("<model>", argumentDescription)
        .option("--insecure", "use plain HTTP, for a registry in the server's --private-registries"),
    ).action((model: string, flags: ServerFlags & { readonly insecure?: boolean }) =>
      withServer(flags, async (server) => {
        await transferModel(server, { direction, model, isInsecure: flags.insecure === true });
        if (screen.isTerminal) screen.writeLine(successMessage(model));
      }),
    );
  };
}

/**
 * Pulls or pushes a model and shows the progress. Ctrl-C stops the transfer, which can be resumed. Commands that write a
 * response to standard output pass `errorScreen`, to keep the progress out of it.
 */
export async function transferModel(
  server: ServerClient,
  { direction, model, isInsecure }: ModelTransfer,
  progressScreen: Screen = screen,
): Promise<void> {
  const progress = openTransferProgress(progressScreen);
  using interrupt = abortOnInterrupt();
  try {
    const body = { model, insecure: isInsecure };
    for await (const step of server.stream(`/api/${direction}`, body, interrupt.signal)) {
      // A progress object of Ollama's /api/pull and /api/push streams.
      progress.update(step as ProgressStep);
    }
  } catch (error) {
    if (interrupt.signal.aborted) throw interruptedFailure(progress, { direction, model, isInsecure });
    throw error;
  } finally {
    progress.close();
  }
}

/** Aborts on the first Ctrl-C; the second one terminates the process as usual. */
export function abortOnInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const abort = (): void => {
    process.off("SIGINT", abort);
    controller.abort();
  };
  process.on("SIGINT", abort);
  return { signal: controller.signal, [Symbol.dispose]: () => void process.off("SIGINT", abort) };
}

function interruptedFailure(
  progress: TransferProgress,
  { direction, model, isInsecure }: ModelTransfer,
): Error {
  const { completed, total } = progress.totals();
  const command = `hearth ${direction} ${model}${isInsecure ? " --insecure" : ""}`;
  if (total === 0) {
    const messages = ["Interrupted before any data was transferred", `Next: run "${command}" to start again`];
    return callFailure({ kind: "interrupted", messages });
  }
  const status =
    direction === "pull"
      ? `Interrupted: ${formatBytes(completed)} of ${formatBytes(total)} downloaded and kept`
      : `Interrupted while uploading ${formatBytes(total)}; the registry keeps what it has received`;
  return callFailure({ kind: "interrupted", messages: [status, `Next: run "${command}" to resume`] });
}
