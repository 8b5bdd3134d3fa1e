import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type LaunchPlan, type Machine, type MemoryCgroup, planLaunch } from "@hearth-and-keep/engine-host";

export type JobPlanOptions = {
  readonly machine: Machine;
  readonly memoryBytes: number;
  readonly cgroup: MemoryCgroup | undefined;
  readonly program: JobProgram;
};

/** What runs in the child process, and the only files it can read besides Node.js and the system libraries. */
export type JobProgram = {
  readonly path: string;
  readonly args: readonly string[];
  readonly readablePaths: readonly string[];
  /** Whether it compiles text as code, as the glue of WebAssembly modules does. */
  readonly compilesText?: boolean;
};

/** What a process is started for. */
export type JobName = "pdf" | "webp";

/** Address space that Node.js reserves at startup and never writes; the data limit counts it. */
const reservedBytes = 640 * 1024 ** 2;
/** JavaScript objects; the rest is for the bytes of the document, its decompressed streams and Node.js itself. */
const heapShare = 0.5;

export function planJob({ machine, memoryBytes, cgroup, program }: JobPlanOptions): LaunchPlan {
  const node = realpathSync(process.execPath);
  const heapMebibytes = Math.floor((memoryBytes * heapShare) / 1024 ** 2);
  return planLaunch(
    {
      program: node,
      args: [
        `--max-old-space-size=${heapMebibytes}`,
        // Nothing that a document contains becomes code.
        ...(program.compilesText === true ? [] : ["--disallow-code-generation-from-strings"]),
        "--no-addons",
        program.path,
        ...program.args,
      ],
      environment: { UV_THREADPOOL_SIZE: "1" },
      programPaths: [node, ...program.readablePaths],
      modelFiles: [],
      memory: {
        limitBytes: memoryBytes,
        ...(cgroup === undefined ? {} : { cgroupProcsPath: cgroup.procsPath }),
      },
      reservedBytes,
    },
    machine,
  );
}

const libraries: Readonly<Record<JobName, string>> = { pdf: "pdfjs-dist", webp: "@jsquash/webp" };

/** In a clone it is TypeScript and imports its library; in an installed package both are bundled in one folder. */
export function findProgram(job: JobName, limits: readonly number[]): JobProgram {
  const args = [job, ...limits.map(String)];
  const compilesText = job === "webp";
  if (!import.meta.url.endsWith(".ts")) {
    const path = fileURLToPath(new URL("./documents/read-document.mjs", import.meta.url));
    return { path, args, readablePaths: [dirname(path)], compilesText };
  }
  const path = fileURLToPath(new URL("worker/main.ts", import.meta.url));
  const library = fileURLToPath(import.meta.resolve(`${libraries[job]}/package.json`));
  const manifest = fileURLToPath(new URL("../package.json", import.meta.url));
  return { path, args, readablePaths: [dirname(path), manifest, dirname(library)], compilesText };
}
