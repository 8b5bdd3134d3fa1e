import type { Command } from "commander";
import { openServerClient, type ServerClient, type ServerFlags } from "../server-client/server-client.ts";

/** Options that select the server and the API key. */
export function addServerFlags(command: Command): Command {
  return command
    .option(
      "--host <address>",
      "server address: host, host:port or a URL (default: HEARTH_HOST, else this machine)",
    )
    .option(
      "--api-key-file <file>",
      "file that contains the API key (default: HEARTH_API_KEY or HEARTH_API_KEY_FILE)",
    );
}

export async function withServer(
  flags: ServerFlags,
  work: (server: ServerClient) => Promise<void>,
): Promise<void> {
  await using server = await openServerClient(flags);
  await work(server);
}
