import type { ServerFlags } from "../calling/call-server.ts";
import { screen } from "../terminal/screen.ts";
import type { Define } from "./command-row.ts";
import { moveModel } from "./move-model.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type TransferFlags = ServerFlags & { readonly insecure?: boolean };

export const define: Define = (command) => {
  addServerFlags(
    command
      .argument("<model>", "as model, model:tag, hf.co/USER/REPOSITORY:TAG or HOST/NAME:TAG")
      .option("--insecure", "speak plain http to a registry that the server lists as private"),
  ).action((model: string, flags: TransferFlags) =>
    withServer(flags, async (server) => {
      await moveModel(server, { direction: "pull", model, isInsecure: flags.insecure === true });
      if (screen.isTerminal) screen.line(`Next: hearth run ${model}`);
    }),
  );
};
