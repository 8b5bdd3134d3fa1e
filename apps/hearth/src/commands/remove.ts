import { screen } from "@hearth-and-keep/terminal";
import type { ServerFlags } from "../server-client/server-client.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

export const define: DefineCommand = (command) => {
  addServerFlags(command.argument("<models...>", "names of local models")).action(
    (models: readonly string[], flags: ServerFlags) =>
      withServer(flags, async (server) => {
        for (const model of models) {
          await server.request("/api/delete", { model });
          screen.writeLine(`Removed ${model}`);
        }
      }),
  );
};
