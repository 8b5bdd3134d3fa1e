import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { serveUntilStopped } from "./serve-until-stopped.ts";
import { createSmallResponseStore } from "./small-response-store.ts";

// A server in its own process, so that its memory and exit can be observed. Started by start-fake-engine-server.ts.
await using server = await startTestServer({
  models: { tiny },
  script: () => [
    { do: "write", text: "Hello" },
    { do: "end", reason: "stop" },
  ],
  limits: { sequences: 64 },
  // A generated model name may exist in a public registry.
  isOffline: true,
  transferLimits: { retryPolicy: { maxAttempts: 1, initialDelayMilliseconds: 0, maxDelayMilliseconds: 0 } },
  discardsLog: true,
  responses: createSmallResponseStore(),
});
await serveUntilStopped(server);
