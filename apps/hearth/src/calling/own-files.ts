import { homedir } from "node:os";
import { join } from "node:path";

/** What the command line keeps for a person, beside the models. */
export function ownFiles() {
  const home = join(homedir(), ".hearth");
  return {
    home,
    history: join(home, "history"),
    log: join(home, "logs", "server.log"),
    /** Which process `run` started in the background. */
    server: join(home, "server.json"),
  } as const;
}
