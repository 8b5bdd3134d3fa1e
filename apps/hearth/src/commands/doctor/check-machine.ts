/**
 * @module
 * The checks of `hearth doctor`: CPU, memory, GPU, the model store and the server, each with advice. Read-only.
 * Imported by `commands/doctor.ts`.
 */
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism, cpus, freemem, loadavg, totalmem } from "node:os";
import manifest from "../../../package.json" with { type: "json" };
import { defaultMemoryBudget } from "../../scheduling/memory-budget.ts";
import { formatBytes } from "../../terminal/format-units.ts";

export type Finding = {
  readonly topic: string;
  readonly state: "ok" | "warning" | "error";
  readonly text: string;
  readonly advice?: string;
};

const minFreeMemoryBytes = 2e9;

export function checkMachine(): readonly Finding[] {
  const node = process.versions.node;
  return [
    {
      topic: "Version",
      state: "ok",
      text: `Hearth ${manifest.version} on Node ${node}, ${process.platform} ${process.arch}`,
    },
    checkCpu(),
    checkMemory(),
    checkGpu(),
  ];
}

function checkCpu(): Finding {
  const cores = availableParallelism();
  const [load = 0] = loadavg();
  const free = Math.max(0, Math.round(cores - load));
  const text = `${cpus()[0]?.model.trim() || "Unknown"}, ${cores} ${cores === 1 ? "core" : "cores"}, about ${free} free now`;
  if (free > 0) return { topic: "CPU", state: "ok", text };
  const advice =
    "other programs use all cores, which slows down models; stop them, or set --threads on serve";
  return { topic: "CPU", state: "warning", text, advice };
}

function checkMemory(): Finding {
  const free = freemem();
  const budget = defaultMemoryBudget();
  const text = `${formatBytes(totalmem())}, ${formatBytes(free)} free now; budget for loaded models ${formatBytes(budget)}`;
  if (free >= minFreeMemoryBytes) return { topic: "Memory", state: "ok", text };
  const advice =
    'only small models fit; "hearth ps" lists the loaded models, "hearth stop MODEL" unloads one';
  return { topic: "Memory", state: "warning", text, advice };
}

function checkGpu(): Finding {
  const vendor = findGpu();
  if (vendor === undefined) {
    return { topic: "GPU", state: "ok", text: "No GPU found; models run on the CPU" };
  }
  const advice = 'the bundled engine uses the CPU only; "hearth engine build" compiles one for this machine';
  return { topic: "GPU", state: "warning", text: `GPU found (${vendor})`, advice };
}

function findGpu(): string | undefined {
  if (process.platform === "darwin" && process.arch === "arm64") return undefined;
  if (existsSync("/proc/driver/nvidia/version")) return "NVIDIA";
  if (existsSync("/dev/kfd")) return "AMD";
  try {
    return readdirSync("/dev/dri").some((name) => name.startsWith("renderD"))
      ? "render device in /dev/dri"
      : undefined;
  } catch {
    return undefined;
  }
}
