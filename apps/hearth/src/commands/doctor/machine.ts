/**
 * @module
 * What `hearth doctor` looks at: processor, memory, graphics, the store and the server, each told in plain words with
 * what to do about it. Looks only; changes nothing. Imported by `commands/doctor.ts`.
 */
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism, cpus, freemem, loadavg, totalmem } from "node:os";
import manifest from "../../../package.json" with { type: "json" };
import { defaultMemoryBudget } from "../../scheduling/memory-budget.ts";
import { tellBytes } from "../../terminal/measures.ts";

export type Finding = {
  readonly topic: string;
  /** `note`: works, but somebody may want to know. `broken`: something must be done. */
  readonly state: "fine" | "note" | "broken";
  readonly text: string;
  readonly advice?: string;
};

const leastMemoryBytes = 2e9;

export function lookAtMachine(): readonly Finding[] {
  const node = process.versions.node;
  return [
    {
      topic: "Version",
      state: "fine",
      text: `Hearth ${manifest.version} on Node ${node}, ${process.platform} ${process.arch}`,
    },
    lookAtProcessor(),
    lookAtMemory(),
    lookAtGraphics(),
  ];
}

function lookAtProcessor(): Finding {
  const cores = availableParallelism();
  const [load = 0] = loadavg();
  const free = Math.max(0, Math.round(cores - load));
  const text = `${cpus()[0]?.model.trim() || "Unknown"}, ${cores} ${cores === 1 ? "core" : "cores"}, about ${free} free now`;
  if (free > 0) return { topic: "Processor", state: "fine", text };
  const advice = "other programs use all cores, so answers are slow; end them, or set --threads when serving";
  return { topic: "Processor", state: "note", text, advice };
}

function lookAtMemory(): Finding {
  const free = freemem();
  const budget = defaultMemoryBudget();
  const text = `${tellBytes(totalmem())}, ${tellBytes(free)} free now; all loaded models together may take ${tellBytes(budget)}`;
  if (free >= leastMemoryBytes) return { topic: "Memory", state: "fine", text };
  const advice = "only small models fit now; hearth ps shows what is loaded, hearth stop MODEL frees it";
  return { topic: "Memory", state: "note", text, advice };
}

function lookAtGraphics(): Finding {
  const maker = findGraphics();
  if (maker === undefined) {
    return { topic: "Graphics", state: "fine", text: "No GPU was found; models run on the processor" };
  }
  const advice =
    "the engine that came with Hearth uses the processor; hearth engine build makes one for this machine";
  return { topic: "Graphics", state: "note", text: `A GPU was found (${maker})`, advice };
}

function findGraphics(): string | undefined {
  if (process.platform === "darwin" && process.arch === "arm64") return undefined;
  if (existsSync("/proc/driver/nvidia/version")) return "NVIDIA";
  if (existsSync("/dev/kfd")) return "AMD";
  try {
    return readdirSync("/dev/dri").some((name) => name.startsWith("renderD"))
      ? "by its render device"
      : undefined;
  } catch {
    return undefined;
  }
}
