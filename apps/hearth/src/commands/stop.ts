import { findBackgroundServer, stopBackgroundServer } from "../calling/background-server.ts";
import { callFailure } from "../calling/call-failure.ts";
import type { ServerFlags } from "../calling/call-server.ts";
import { screen } from "../terminal/screen.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type StopFlags = ServerFlags & { readonly server?: boolean };

export const define: Define = (command) => {
  addServerFlags(
    command
      .argument("[model]", "a model that is in memory")
      .option("--server", "end the server that hearth run started in the background"),
  ).action(async (model: string | undefined, flags: StopFlags) => {
    if (flags.server === true && model === undefined) await stopServer();
    else if (model === undefined || flags.server === true) {
      const sentence = "Cannot stop: say which model, or --server, and not both";
      throw callFailure({
        kind: "words-wrong",
        sentence,
        next: "hearth ps shows the models that are in memory",
      });
    } else {
      await withServer(flags, async (server) => {
        await server.ask("/api/generate", { model, keep_alive: 0, stream: false });
        screen.line(`Stopped ${model}: it leaves memory when its last answer is finished`);
      });
    }
  });
};

async function stopServer(): Promise<void> {
  const running = await findBackgroundServer();
  if (running === undefined) {
    screen.line("No server was started by hearth run. One of hearth serve ends by Ctrl-C in its terminal");
    return;
  }
  await stopBackgroundServer(running);
  screen.line(`The server at ${running.url} has ended`);
}
