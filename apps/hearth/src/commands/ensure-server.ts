import { errorScreen, printToStderr } from "@hearth-and-keep/terminal";
import { isReachable, startBackgroundServer } from "../server-client/background-server.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { showSpinner } from "../terminal/spinner.ts";

/** Starts a background server when none is reachable at a local address, and reports it. */
export async function ensureServer(server: ServerClient): Promise<void> {
  if (!server.address.isLocal || (await isReachable(server))) return;
  using waiting = showSpinner(errorScreen, "Starting the server");
  const outcome = await startBackgroundServer(server);
  waiting[Symbol.dispose]();
  const { url } = server.address;
  printToStderr(
    outcome === "found"
      ? `Using the server at ${url}, which another command has just started`
      : `Started a server at ${url}, running in the background; stop it with "hearth stop --server", see its log with "hearth logs"`,
  );
}
