import type { Command } from "commander";
import { openServer, type ServerCaller, type ServerFlags } from "../server-client/call-server.ts";

/** Which server a command calls, and by which key. */
export function addServerFlags(command: Command): Command {
  return command
    .option(
      "--host <address>",
      "the server to call, as host, host:port or https://host (default: HEARTH_HOST, or this machine)",
    )
    .option(
      "--api-key-file <file>",
      "a file with the server's key (default: HEARTH_API_KEY or HEARTH_API_KEY_FILE)",
    );
}

export async function withServer(
  flags: ServerFlags,
  work: (server: ServerCaller) => Promise<void>,
): Promise<void> {
  await using server = await openServer(flags);
  await work(server);
}
