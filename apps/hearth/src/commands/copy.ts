import type { ServerFlags } from "../server-client/call-server.ts";
import { screen } from "../terminal/screen.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

export const define: Define = (command) => {
  addServerFlags(
    command.argument("<model>", "a model that is here").argument("<name>", "what to call it as well"),
  ).action((source: string, destination: string, flags: ServerFlags) =>
    withServer(flags, async (server) => {
      await server.ask("/api/copy", { source, destination });
      screen.line(`Copied ${source} to ${destination}`);
    }),
  );
};
