import { stopBackgroundServer } from "../server-client/background-server.ts";
import { callFailure } from "../server-client/call-failure.ts";
import type { ServerCaller, ServerFlags } from "../server-client/call-server.ts";
import { findNotedServer, listNotedServers } from "../server-client/pid-files.ts";
import {
  listedModels,
  type RunningModel,
  runningModels,
  showModel,
} from "../server-client/response-types.ts";
import { screen } from "../terminal/screen.ts";
import { makeSafeLine } from "../terminal/untrusted-text.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type StopFlags = ServerFlags & { readonly server?: boolean };

export const define: Define = (command) => {
  addServerFlags(
    command
      .argument("[model]", "a model that is in memory, by its name or by its ID as hearth ps shows it")
      .option("--server", "end the server that hearth run started in the background at this address"),
  ).action(async (model: string | undefined, flags: StopFlags) => {
    if (flags.server === true && model === undefined) await withServer(flags, stopServer);
    else if (model === undefined || flags.server === true) {
      const sentence = "Cannot stop: say which model, or --server, and not both";
      throw callFailure({
        kind: "words-wrong",
        sentence,
        next: "hearth ps shows the models that are in memory",
      });
    } else await withServer(flags, (server) => stopModel(server, model));
  });
};

async function stopModel(server: ServerCaller, model: string): Promise<void> {
  const found = await findRunning(server, model);
  if (found === undefined) {
    // One that is nowhere is refused here.
    await showModel(server, model);
    screen.line(`${model} is not in memory, so there is nothing to stop`);
    return;
  }
  const name = makeSafeLine(found.name);
  if (isNameless(found)) {
    screen.line(`${name} leaves memory when its last answer is finished: its name is another model's now`);
    return;
  }
  await server.ask("/api/generate", { model: found.name, keep_alive: 0, stream: false });
  const isLeft = (await runningModels(server)).every(({ digest }) => digest !== found.digest);
  screen.line(
    isLeft
      ? `Stopped ${name}: it has left memory`
      : `Stopped ${name}: it leaves memory when its last answer is finished`,
  );
}

const leastDigestLetters = 6;

/** By name, whose tag may be left out, or by the start of its ID. Of two names of one model ps shows the first alone. */
async function findRunning(server: ServerCaller, wanted: string): Promise<RunningModel | undefined> {
  const running = await runningModels(server);
  const asked = wanted.toLowerCase();
  const isNamed = ({ name }: { readonly name: string }): boolean =>
    [asked, `${asked}:latest`].includes(name.toLowerCase());
  const listed = (await listedModels(server)).find(isNamed);
  return (
    running.find((model) => isNamed(model) || model.digest === listed?.digest) ??
    running.find(({ digest }) => asked.length >= leastDigestLetters && digest.startsWith(asked))
  );
}

/** The server shows what no name leads to by its digest. */
function isNameless({ name, digest }: RunningModel): boolean {
  return digest.startsWith(name);
}

async function stopServer({ address }: ServerCaller): Promise<void> {
  const running = await findNotedServer(address);
  if (running !== undefined) {
    await stopBackgroundServer(address, running);
    screen.line(`The server at ${running.url} has ended`);
    return;
  }
  screen.line(`hearth run started no server at ${address.url}`);
  screen.line("One of hearth serve ends by Ctrl-C in its terminal");
  for (const { url } of await listNotedServers()) {
    screen.line(`One runs at ${url}: hearth stop --server --host ${url} ends it`);
  }
}
