import { fileURLToPath } from "node:url";
import { type OwnedProcess, startProcess } from "@hearth-and-keep/test-servers";

const program = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));

/** Several node processes. A killed one is restarted while the others keep serving. */
export type NodeFleet = AsyncDisposable & {
  /** Sends the request to any node; retries on another one when the node is killed. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Kills one node with SIGKILL; resolves when it serves again. */
  killOne(): Promise<void>;
  /** Rolling restart with other settings. */
  restartWith(environment: Readonly<Record<string, string>>): Promise<void>;
  readonly kills: number;
};

type FleetNode = OwnedProcess & { readonly url: string };

export async function startFleet(
  size: number,
  environment: Readonly<Record<string, string>>,
): Promise<NodeFleet> {
  let settings = environment;
  const start = async (): Promise<FleetNode> => {
    const started = await startProcess({
      command: process.execPath,
      arguments: [program, "serve", "--port", "0", "--metrics-port", "0"],
      environment: { KEEP_LOG_LEVEL: "warn", ...settings },
      isReady: (output) => output.includes("Keep is listening on"),
      readyWithinSeconds: 120,
    });
    // Read now, because only recent output is kept.
    const url = /Keep is listening on (?<url>\S+)/u.exec(started.output())?.groups?.["url"] ?? "";
    return { ...started, url };
  };
  const nodes: (FleetNode | undefined)[] = await Promise.all(Array.from({ length: size }, start));
  let kills = 0;
  let next = 0;
  const replace = async (index: number, stop: (node: FleetNode) => Promise<unknown>): Promise<void> => {
    const node = nodes[index];
    // New requests go to other nodes; running ones are interrupted.
    nodes[index] = undefined;
    if (node !== undefined) await stop(node);
    nodes[index] = await start();
  };
  return {
    async request(path, init) {
      for (let attempt = 1; ; attempt += 1) {
        next = (next + 1) % nodes.length;
        const node = nodes[next];
        try {
          if (node !== undefined) return await fetch(node.url + path, init);
        } catch (error) {
          if (nodes.includes(node) || attempt > 200) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    async killOne() {
      kills += 1;
      await replace(kills % nodes.length, (node) => {
        process.kill(node.pid, "SIGKILL");
        return node.exited;
      });
    },
    async restartWith(other) {
      settings = other;
      for (const index of nodes.keys()) await replace(index, (node) => node.stop());
    },
    get kills() {
      return kills;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(async (node) => node?.stop()));
    },
  };
}
