import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";

/** The rest of a program that `startObservedServer` starts: reports its address and runs until SIGTERM. */
export async function serveUntilStopped({ url }: TestServer): Promise<void> {
  process.stdout.write(`listening on ${url}\n`);
  // Garbage must not count as growth.
  process.on("SIGUSR2", () => globalThis.gc?.());
  const { promise, resolve } = Promise.withResolvers<void>();
  process.once("SIGTERM", () => resolve());
  // Until then, the listening socket keeps the process alive.
  await promise;
}
