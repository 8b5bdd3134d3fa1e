import { CrashBreaker } from "@hearth-and-keep/engine-host";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { serveUntilStopped } from "./serve-until-stopped.ts";

// Runs the worker whose path is its argument. Started by the test, which observes its memory and its exit.

let clock = 0;
/** Every crash is long ago, so that the model is never quarantined. */
const breaker = new CrashBreaker(() => (clock += 3_600_000));
await using server = await startTestServer({
  models: { tiny },
  driver: createLlamaDriver({ breaker, workerProgram: process.argv[2] ?? "" }),
  isOffline: true,
  discardsLog: true,
});
await serveUntilStopped(server);
