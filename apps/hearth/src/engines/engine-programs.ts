/**
 * @module
 * The engines on this machine: the built-in binding, llama.cpp's own server, and the same server as a Python package in
 * a virtual environment of our own. Finds, installs and builds them, stores the user's choice and runs self-tests.
 * Does not create drivers: callers pass them in. Imported by `commands/` and by `scheduling/engine-choice.ts`.
 */

import { FailureError } from "@hearth-and-keep/failures";
import { type GpuBackend, gpuBackends } from "./gpu-packages.ts";

export const engineNames = ["binding", "llama-server", "xllamacpp", ...gpuBackends] as const;
export type EngineName = (typeof engineNames)[number];

/** Values of `--engine`; `auto` selects the fastest working engine. */
export const enginePreferences = ["auto", ...engineNames] as const;
export type EnginePreference = (typeof enginePreferences)[number];

/** An installed engine. */
export type EngineProgram =
  | {
      readonly kind: "binding";
      /** The folder of a build compiled on this machine; absent for the included build. */
      readonly buildFolder?: string;
      readonly gpu?: undefined;
    }
  | {
      readonly kind: "binding";
      readonly gpu: GpuBackend;
      /** The folder of the binding's packages for this GPU. */
      readonly buildFolder: string;
      /** Numbers of the GPUs to use, separated by commas; absent uses all but software devices. */
      readonly devices?: string;
    }
  | {
      readonly kind: "llama-server";
      readonly path: string;
      /** By "hearth engine build". */
      readonly isCompiled?: true;
    }
  | { readonly kind: "xllamacpp"; readonly interpreter: string; readonly version: string };

/** Where to look for engines. */
export type EngineLocations = {
  /** Contains installed and compiled engines, the user's choice, and the results of self-tests. */
  readonly folder: string;
  /** The path given by `--llama-server`. */
  readonly llamaServer?: string | undefined;
  /** The folders of the PATH. */
  readonly searchPath: readonly string[];
  /** Given by `--gpu-devices`. */
  readonly gpuDevices?: string | undefined;
};

/** Why an engine could not be set up. `lastOutput` is the last line that the tool printed, without local paths. */
export type EngineSetupFailure =
  | { readonly kind: "tool-missing"; readonly tool: MissingTool }
  | { readonly kind: "engine-missing"; readonly engine: EngineName }
  /** It is installed, but does not work on this machine. */
  | { readonly kind: "self-test-failed"; readonly engine: EngineName; readonly reason: string }
  | { readonly kind: "tool-failed"; readonly step: string; readonly lastOutput: string };

export type MissingTool =
  | "python"
  | "python-venv"
  | "cmake"
  | "compiler"
  | "git"
  | "linux"
  | "engine-source"
  | "npm"
  | "gpu-package";

export function missingTool(tool: MissingTool, cause?: unknown): FailureError<EngineSetupFailure> {
  return new FailureError<EngineSetupFailure>({ kind: "tool-missing", tool }, { cause });
}

/** The name by which `hearth engine use` selects it. */
export function engineNameOf(program: EngineProgram): EngineName {
  return program.kind === "binding" ? (program.gpu ?? "binding") : program.kind;
}

/** A short name for the terminal, e.g. "xllamacpp 2026.10.11549". */
export function formatProgram(program: EngineProgram): string {
  switch (program.kind) {
    case "binding":
      if (program.gpu !== undefined) return program.gpu;
      return program.buildFolder === undefined ? "built-in" : "built-in (compiled)";
    case "llama-server":
      return program.isCompiled === true ? "llama-server (compiled)" : "llama-server";
    case "xllamacpp":
      return `xllamacpp ${program.version}`;
  }
}

export function formatEngineSetupFailure(failure: EngineSetupFailure): string {
  switch (failure.kind) {
    case "tool-missing":
      return missingTools[failure.tool];
    case "engine-missing":
      return missingEngines[failure.engine];
    case "self-test-failed":
      return `The ${failure.engine} engine is installed, but failed its self-test: ${failure.reason}`;
    case "tool-failed":
      return `Cannot ${failure.step}: ${failure.lastOutput}`;
  }
}

const missingTools: Readonly<Record<MissingTool, string>> = {
  python: "Cannot install xllamacpp: it needs Python 3.10 or newer on the PATH (Debian: apt install python3)",
  "python-venv":
    "Cannot install xllamacpp: this Python cannot create virtual environments (Debian: apt install python3-venv)",
  cmake: "Cannot build: cmake is not on the PATH (Debian: apt install cmake)",
  compiler: "Cannot build: no C++ compiler or make on the PATH (Debian: apt install clang make)",
  "gpu-package": "Cannot install: there are packages for Linux on x64 only",
  npm: "Cannot install: npm is not on the PATH (Debian: apt install npm)",
  git: "Cannot build: git is not on the PATH; it is needed to unpack the source (Debian: apt install git)",
  linux: "Cannot build: only supported on Linux",
  "engine-source":
    'Cannot build: the source is not installed; run "npm install --global --ignore-scripts --omit=optional node-llama-cpp@3.22.1" and try again',
};

const missingEngines: Readonly<Record<EngineName, string>> = {
  binding: "Cannot use the built-in engine: this installation has no build for this platform",
  "llama-server":
    'llama-server is not on the PATH; set its path with --llama-server, or run "hearth engine build llama-server"',
  xllamacpp: 'xllamacpp is not installed; run "hearth engine install"',
  vulkan: 'The Vulkan engine is not installed; run "hearth engine install vulkan"',
  cuda: 'The CUDA engine is not installed; run "hearth engine install cuda"',
};
