import { homedir } from "node:os";
import { join } from "node:path";

/** Files of the command line in the user's home. */
export function appPaths() {
  const home = join(homedir(), ".hearth");
  return {
    home,
    history: join(home, "history"),
    log: join(home, "logs", "server.log"),
    /** What "hearth launch" has written, one file for each program. */
    launches: join(home, "launch"),
    /** The key that stored responses are encrypted with. */
    responseKey: join(home, "response.key"),
    /** API keys with limits, created by "hearth keys". */
    keys: join(home, "keys.sqlite"),
    /** One PID file for each background server. */
    servers: join(home, "servers"),
  } as const;
}
