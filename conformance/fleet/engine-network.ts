import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type LlamaServer, startLlamaServer, testModel } from "@hearth-and-keep/test-servers";

export type NetworkedEngine = {
  readonly url: string;
  /** Its label in the metrics. */
  readonly label: string;
  /** Limits its share of one core. */
  limit(share: number): void;
  kill(): Promise<void>;
  disconnect(): void;
  reconnect(): void;
};

export type EngineNetwork = AsyncDisposable & { readonly engines: readonly NetworkedEngine[] };

export type EngineNetworkPlan = {
  readonly engines: number;
  readonly slots: number;
  /** The share of one core for each engine. */
  readonly share?: number;
};

const periodMicroseconds = 40_000;

/** Starts engines in separate network namespaces on one bridge with this machine, each with its share of a core. */
export async function startEngineNetwork(plan: EngineNetworkPlan): Promise<EngineNetwork> {
  await using stack = new AsyncDisposableStack();
  const id = `hf${process.pid}`;
  // One of 250 small networks, so that two runs on one machine do not collide.
  const network = `10.231.${process.pid % 250}`;
  ip(`link add ${id}b type bridge`);
  stack.defer(() => ip(`link del ${id}b`));
  ip(`addr add ${network}.1/24 dev ${id}b`);
  ip(`link set ${id}b up`);
  const model = await testModel("tiny-llama.gguf");
  const starting = Array.from({ length: plan.engines }, async (_, index) => {
    const attached = attachToNetwork({ id, index, network }, stack);
    const server = await startLlamaServer({
      model,
      host: attached.host,
      within: ["ip", "netns", "exec", attached.namespace],
      parallelSlots: plan.slots,
      contextTokens: 2048,
      cacheMegabytes: 0,
    });
    stack.defer(() => server[Symbol.asyncDispose]());
    return networkedEngine(server, attached.link, stack.use(openGroup(`${id}e${index}`, server)));
  });
  const engines = await Promise.all(starting);
  for (const engine of engines) if (plan.share !== undefined) engine.limit(plan.share);
  const resources = stack.move();
  return { engines, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

type NetworkAttachment = { readonly namespace: string; readonly link: string; readonly host: string };

function attachToNetwork(
  { id, index, network }: { readonly id: string; readonly index: number; readonly network: string },
  stack: AsyncDisposableStack,
): NetworkAttachment {
  const [namespace, link, inner] = [`${id}n${index}`, `${id}v${index}`, `${id}w${index}`];
  const host = `${network}.${10 + index}`;
  ip(`netns add ${namespace}`);
  stack.defer(() => ip(`netns del ${namespace}`));
  ip(`link add ${link} type veth peer name ${inner}`);
  ip(`link set ${inner} netns ${namespace}`);
  ip(`link set ${link} master ${id}b`);
  ip(`link set ${link} up`);
  ip(`-n ${namespace} addr add ${host}/24 dev ${inner}`);
  ip(`-n ${namespace} link set ${inner} up`);
  ip(`-n ${namespace} link set lo up`);
  return { namespace, link, host };
}

function networkedEngine(server: LlamaServer, link: string, group: CpuGroup): NetworkedEngine {
  return {
    url: server.url,
    label: new URL(server.url).host,
    limit: (share) => group.limit(share),
    async kill() {
      process.kill(server.process.pid, "SIGKILL");
      await sleep(50);
    },
    disconnect: () => ip(`link set ${link} down`),
    reconnect: () => ip(`link set ${link} up`),
  };
}

type CpuGroup = AsyncDisposable & { limit(share: number): void };

/** A cgroup of the kernel, version 1 or 2. */
function openGroup(name: string, server: LlamaServer): CpuGroup {
  const isVersion1 = existsSync("/sys/fs/cgroup/cpu/cgroup.procs");
  const folder = isVersion1 ? `/sys/fs/cgroup/cpu/${name}` : `/sys/fs/cgroup/${name}`;
  mkdirSync(folder);
  writeFileSync(`${folder}/cgroup.procs`, String(server.process.pid));
  return {
    limit(share) {
      const quota = Math.max(1000, Math.round(share * periodMicroseconds));
      if (!isVersion1) writeFileSync(`${folder}/cpu.max`, `${quota} ${periodMicroseconds}`);
      else {
        writeFileSync(`${folder}/cpu.cfs_period_us`, String(periodMicroseconds));
        writeFileSync(`${folder}/cpu.cfs_quota_us`, String(quota));
      }
    },
    async [Symbol.asyncDispose]() {
      // A cgroup cannot be removed before its last process has exited.
      await server[Symbol.asyncDispose]();
      for (let attempt = 0; attempt < 50 && existsSync(folder); attempt += 1) {
        try {
          rmdirSync(folder);
        } catch {
          await sleep(100);
        }
      }
    },
  };
}

function ip(args: string): void {
  execFileSync("ip", args.split(" "), { stdio: ["ignore", "ignore", "pipe"] });
}
