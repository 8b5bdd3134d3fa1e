/**
 * @module
 * The engines a person can have on this machine: the binding that comes with us, llama.cpp's own server, and the same
 * server as a Python package in an environment of our own. What is there, how to get more, which one was chosen and
 * whether it passed its self-test. It starts no model by itself: drivers are handed to it.
 * Imported by `commands/` and by `scheduling/engine-choice.ts`.
 */

export const engineNames = ["binding", "llama-server", "xllamacpp"] as const;
type EngineName = (typeof engineNames)[number];

/** What a person may ask for; `auto` is the fastest one that works. */
export const engineWishes = ["auto", ...engineNames] as const;
export type EngineWish = (typeof engineWishes)[number];

/** An engine as it lies on this machine. */
export type EngineProgram =
  | {
      readonly kind: "binding";
      /** Where a build made on this machine lies; absent for the one that came with us. */
      readonly buildFolder?: string;
    }
  | { readonly kind: "llama-server"; readonly path: string }
  | { readonly kind: "xllamacpp"; readonly interpreter: string; readonly version: string };

/** Where engines are looked for. */
export type EnginePlaces = {
  /** Holds what we installed and built, the choice, and what self-tests found. */
  readonly folder: string;
  /** A `llama-server` that the person named. */
  readonly llamaServer?: string | undefined;
  /** The folders that programs are looked for in. */
  readonly searchPath: readonly string[];
};

/** Why an engine cannot be had. `lastWords` are the tool's own, without what lies where on this machine. */
export type EngineSetupFailure =
  | { readonly kind: "tool-missing"; readonly tool: MissingTool }
  | { readonly kind: "engine-missing"; readonly engine: EngineName }
  | { readonly kind: "tool-failed"; readonly step: string; readonly lastWords: string };

export type MissingTool = "python" | "python-venv" | "cmake" | "compiler" | "git" | "linux" | "engine-source";

/** For one line on a terminal, as in "xllamacpp 2026.10.11549". */
export function nameProgram(program: EngineProgram): string {
  switch (program.kind) {
    case "binding":
      return program.buildFolder === undefined ? "built-in" : "built-in (compiled here)";
    case "llama-server":
      return "llama-server";
    case "xllamacpp":
      return `xllamacpp ${program.version}`;
  }
}

/** What the person at the terminal reads. */
export function explainEngineSetup(failure: EngineSetupFailure): string {
  switch (failure.kind) {
    case "tool-missing":
      return missingTools[failure.tool];
    case "engine-missing":
      return missingEngines[failure.engine];
    case "tool-failed":
      return `Cannot ${failure.step}: ${failure.lastWords}`;
  }
}

const missingTools: Readonly<Record<MissingTool, string>> = {
  python: "Cannot install xllamacpp: it needs Python 3.10 or newer on the PATH (Debian: apt install python3)",
  "python-venv":
    "Cannot install xllamacpp: this Python cannot make environments (Debian: apt install python3-venv)",
  cmake: "Cannot build: cmake is not on the PATH (Debian: apt install cmake)",
  compiler: "Cannot build: there is no C++ compiler on the PATH (Debian: apt install g++ make)",
  git: "Cannot build: git is not on the PATH, and the source is kept as a bundle of git (Debian: apt install git)",
  linux: "Cannot build here: only on Linux does a build of one's own differ from the one that is installed",
  "engine-source":
    "Cannot build: the source is not installed; type npm install --global --ignore-scripts --omit=optional node-llama-cpp@3.22.1 and try again",
};

const missingEngines: Readonly<Record<EngineName, string>> = {
  binding: "Cannot use the built-in engine: this installation has no build of it for this machine",
  "llama-server":
    "There is no llama-server on the PATH; name one with --llama-server, or type hearth engine install",
  xllamacpp: "xllamacpp is not installed; type hearth engine install",
};
