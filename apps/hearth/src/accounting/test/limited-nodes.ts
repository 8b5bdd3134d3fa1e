import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { makeTemporaryFolder, startProcess } from "@hearth-and-keep/test-servers";
import type { Backend } from "../../key-store/test/key-databases.ts";

const program = fileURLToPath(new URL("limited-server-process.ts", import.meta.url));

/** A server on a database of keys, in a process of its own. */
export type LimitedNode = AsyncDisposable & {
  readonly url: string;
  /** Under which its requests are reserved. */
  readonly node: string;
  /** Kills the process, which has no time to settle anything. */
  readonly kill: () => Promise<void>;
};

export async function startLimitedNode(backend: Backend, address: string): Promise<LimitedNode> {
  const node = randomUUID();
  await using stack = new AsyncDisposableStack();
  // A killed process cannot delete its own.
  const folder = stack.use(await makeTemporaryFolder("limited-node"));
  const child = stack.use(
    await startProcess({
      command: process.execPath,
      arguments: [program, backend, address, node],
      environment: { TMPDIR: folder.path },
      isReady: (output) => output.includes("Listening on"),
    }),
  );
  const resources = stack.move();
  return {
    url: /Listening on (\S+)/u.exec(child.output())?.[1] ?? "",
    node,
    kill: async () => {
      process.kill(child.pid, "SIGKILL");
      await child.exited;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
