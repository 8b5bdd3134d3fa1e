import { screen } from "@hearth-and-keep/terminal";
import type { ServerFlags } from "../server-client/server-client.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

export const define: DefineCommand = (command) => {
  addServerFlags(
    command.argument("<model>", "name of a local model").argument("<name>", "name of the copy"),
  ).action((source: string, destination: string, flags: ServerFlags) =>
    withServer(flags, async (server) => {
      await server.request("/api/copy", { source, destination });
      screen.writeLine(`Copied ${source} to ${destination}`);
    }),
  );
};
