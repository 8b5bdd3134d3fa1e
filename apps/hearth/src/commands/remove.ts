import type { ServerFlags } from "../server-client/call-server.ts";
import { screen } from "../terminal/screen.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

export const define: Define = (command) => {
  addServerFlags(command.argument("<models...>", "the names of models that are here")).action(
    (models: readonly string[], flags: ServerFlags) =>
      withServer(flags, async (server) => {
        for (const model of models) {
          await server.ask("/api/delete", { model });
          screen.line(`Removed ${model}`);
        }
      }),
  );
};
