import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

// A server in a process of its own, so that its memory and its exit are its own. Started by start-fake-engine-server.ts.
await using server = await startTestServer({
  models: { tiny },
  script: () => [
    { do: "write", text: "Hello" },
    { do: "end", reason: "stop" },
  ],
  limits: { sequences: 64 },
  // What is made to break it may be the name of a model somewhere.
  isOffline: true,
  transferLimits: { retryPolicy: { maxAttempts: 1, initialDelayMilliseconds: 0, maxDelayMilliseconds: 0 } },
  discardsLog: true,
});
process.stdout.write(`listening on ${server.url}\n`);
// Garbage is not growth.
process.on("SIGUSR2", () => globalThis.gc?.());
const { promise, resolve } = Promise.withResolvers<void>();
process.once("SIGTERM", () => resolve());
// The listening socket alone keeps the process alive until then.
await promise;
