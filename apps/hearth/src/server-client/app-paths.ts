import { homedir } from "node:os";
import { join } from "node:path";

/** What the command line keeps for a person, beside the models. */
export function ownFiles() {
  const home = join(homedir(), ".hearth");
  return {
    home,
    history: join(home, "history"),
    log: join(home, "logs", "server.log"),
    /** One note for each server that `run` started in the background. */
    servers: join(home, "servers"),
  } as const;
}
