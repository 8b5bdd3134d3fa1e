import { sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { stopBackgroundServer } from "../server-client/background-server.ts";
import { callFailure } from "../server-client/call-failure.ts";
import { findBackgroundServer, listBackgroundServers } from "../server-client/pid-files.ts";
import {
  listModels,
  listRunningModels,
  type RunningModel,
  showModel,
} from "../server-client/response-types.ts";
import type { ServerClient, ServerFlags } from "../server-client/server-client.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type StopFlags = ServerFlags & { readonly server?: boolean };

export const define: DefineCommand = (command) => {
  addServerFlags(
    command
      .argument("[model]", 'loaded model to unload, by name or by the ID that "hearth ps" shows')
      .option("--server", 'stop the background server that "hearth run" started at this address'),
  ).action(async (model: string | undefined, flags: StopFlags) => {
    if (flags.server === true && model === undefined) await withServer(flags, stopServer);
    else if (model === undefined || flags.server === true) {
      const message = "Specify either a model or --server";
      throw callFailure({
        kind: "usage-error",
        message,
        next: 'run "hearth ps" to list the loaded models',
      });
    } else await withServer(flags, (server) => stopModel(server, model));
  });
};

async function stopModel(server: ServerClient, model: string): Promise<void> {
  const found = await findRunningModel(server, model);
  if (found === undefined) {
    // Fails if there is no such model.
    await showModel(server, model);
    screen.writeLine(`${model} is not loaded`);
    return;
  }
  const name = sanitizeLine(found.name);
  if (isUnnamed(found)) {
    screen.writeLine(`${name} no longer has a name, and will be unloaded when its current requests finish`);
    return;
  }
  await server.request("/api/generate", { model: found.name, keep_alive: 0, stream: false });
  const isUnloaded = (await listRunningModels(server)).every(({ digest }) => digest !== found.digest);
  screen.writeLine(
    isUnloaded ? `Unloaded ${name}` : `${name} will be unloaded when its current requests finish`,
  );
}

const minDigestCharacters = 6;

/**
 * Finds a loaded model by its name, with or without the tag, or by a prefix of its ID. `/api/ps` lists a model with
 * several names under one of them, so the others are matched by digest.
 */
async function findRunningModel(server: ServerClient, nameOrId: string): Promise<RunningModel | undefined> {
  const running = await listRunningModels(server);
  const wanted = nameOrId.toLowerCase();
  const hasName = ({ name }: { readonly name: string }): boolean =>
    [wanted, `${wanted}:latest`].includes(name.toLowerCase());
  const listed = (await listModels(server)).find(hasName);
  return (
    running.find((model) => hasName(model) || model.digest === listed?.digest) ??
    running.find(({ digest }) => wanted.length >= minDigestCharacters && digest.startsWith(wanted))
  );
}

/** The server lists a model without a name by its digest. */
function isUnnamed({ name, digest }: RunningModel): boolean {
  return digest.startsWith(name);
}

async function stopServer({ address }: ServerClient): Promise<void> {
  const running = await findBackgroundServer(address);
  if (running !== undefined) {
    await stopBackgroundServer(address, running);
    screen.writeLine(`Stopped the server at ${running.url}`);
    return;
  }
  screen.writeLine(`No background server at ${address.url}`);
  screen.writeLine('To stop a server started with "hearth serve", press Ctrl-C in its terminal');
  for (const { url } of await listBackgroundServers()) {
    screen.writeLine(`Running at ${url}; stop it with "hearth stop --server --host ${url}"`);
  }
}
