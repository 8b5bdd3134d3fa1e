import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

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
});
process.stdout.write(`listening on ${server.url}\n`);
// Garbage must not count as growth.
process.on("SIGUSR2", () => globalThis.gc?.());
const { promise, resolve } = Promise.withResolvers<void>();
process.once("SIGTERM", () => resolve());
// Until then, the listening socket keeps the process alive.
await promise;
