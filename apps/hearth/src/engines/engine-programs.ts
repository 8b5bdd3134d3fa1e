/**
 * @module
 * The engines on this machine: the built-in binding, llama.cpp's own server, and the same server as a Python package in
 * a virtual environment of our own. Finds, installs and builds them, stores the user's choice and runs self-tests.
 * Does not create drivers: callers pass them in. Imported by `commands/` and by `scheduling/engine-choice.ts`.
 */

export const engineNames = ["binding", "llama-server", "xllamacpp"] as const;
type EngineName = (typeof engineNames)[number];

/** Values of `--engine`; `auto` selects the fastest working engine. */
export const enginePreferences = ["auto", ...engineNames] as const;
export type EnginePreference = (typeof enginePreferences)[number];

/** An installed engine. */
export type EngineProgram =
  | {
      readonly kind: "binding";
      /** The folder of a build compiled on this machine; absent for the included build. */
      readonly buildFolder?: string;
    }
  | { readonly kind: "llama-server"; readonly path: string }
  | { readonly kind: "xllamacpp"; readonly interpreter: string; readonly version: string };

/** Where to look for engines. */
export type EngineLocations = {
  /** Contains installed and compiled engines, the user's choice, and the results of self-tests. */
  readonly folder: string;
  /** The path given by `--llama-server`. */
  readonly llamaServer?: string | undefined;
  /** The folders of the PATH. */
  readonly searchPath: readonly string[];
};

/** Why an engine could not be set up. `lastOutput` is the last line that the tool printed, without local paths. */
export type EngineSetupFailure =
  | { readonly kind: "tool-missing"; readonly tool: MissingTool }
  | { readonly kind: "engine-missing"; readonly engine: EngineName }
  | { readonly kind: "tool-failed"; readonly step: string; readonly lastOutput: string };

export type MissingTool = "python" | "python-venv" | "cmake" | "compiler" | "git" | "linux" | "engine-source";

/** A short name for the terminal, e.g. "xllamacpp 2026.10.11549". */
export function formatProgram(program: EngineProgram): string {
  switch (program.kind) {
    case "binding":
      return program.buildFolder === undefined ? "built-in" : "built-in (compiled)";
    case "llama-server":
      return "llama-server";
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
    case "tool-failed":
      return `Cannot ${failure.step}: ${failure.lastOutput}`;
  }
}

const missingTools: Readonly<Record<MissingTool, string>> = {
  python: "Cannot install xllamacpp: it needs Python 3.10 or newer on the PATH (Debian: apt install python3)",
  "python-venv":
    "Cannot install xllamacpp: this Python cannot create virtual environments (Debian: apt install python3-venv)",
  cmake: "Cannot build: cmake is not on the PATH (Debian: apt install cmake)",
  compiler: "Cannot build: no C++ compiler or make on the PATH (Debian: apt install g++ make)",
  git: "Cannot build: git is not on the PATH; it is needed to unpack the source (Debian: apt install git)",
  linux: "Cannot build: only supported on Linux",
  "engine-source":
    'Cannot build: the source is not installed; run "npm install --global --ignore-scripts --omit=optional node-llama-cpp@3.22.1" and try again',
};

const missingEngines: Readonly<Record<EngineName, string>> = {
  binding: "Cannot use the built-in engine: this installation has no build for this platform",
  "llama-server":
    'llama-server is not on the PATH; set its path with --llama-server, or run "hearth engine install"',
  xllamacpp: 'xllamacpp is not installed; run "hearth engine install"',
};
