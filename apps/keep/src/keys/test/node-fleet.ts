import { fileURLToPath } from "node:url";
import { type OwnedProcess, startProcess } from "@hearth-and-keep/test-servers";

const program = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));

/** Several nodes as processes of their own. One that is killed is started again; the others serve meanwhile. */
export type NodeFleet = AsyncDisposable & {
  /** Asks any node; one whose connection breaks because it is being killed is left for another. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Ends one node as a crash would, and settles when it serves again. */
  killOne(): Promise<void>;
  /** Ends them one after the other in good order and starts each with other settings. */
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
    // Read now: what a process prints is kept for a while only.
    const url = /Keep is listening on (?<url>\S+)/u.exec(started.output())?.groups?.["url"] ?? "";
    return { ...started, url };
  };
  const nodes: (FleetNode | undefined)[] = await Promise.all(Array.from({ length: size }, start));
  let kills = 0;
  let next = 0;
  const replace = async (place: number, end: (node: FleetNode) => Promise<unknown>): Promise<void> => {
    const node = nodes[place];
    // Nobody is sent to it from here on; who is on the way is cut off.
    nodes[place] = undefined;
    if (node !== undefined) await end(node);
    nodes[place] = await start();
  };
  return {
    async ask(path, init) {
      for (let attempt = 1; ; attempt += 1) {
        next = (next + 1) % nodes.length;
        const node = nodes[next];
        try {
          if (node !== undefined) return await fetch(node.url + path, init);
        } catch (problem) {
          if (nodes.includes(node) || attempt > 200) throw problem;
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
      for (const place of nodes.keys()) await replace(place, (node) => node.stop());
    },
    get kills() {
      return kills;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(async (node) => node?.stop()));
    },
  };
}
