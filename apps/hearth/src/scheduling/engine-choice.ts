import { mkdir } from "node:fs/promises";
import type { EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { createLlamaDriver, type PromptStore } from "@hearth-and-keep/llama-engine";
import { readChosenEngine } from "../engines/chosen-engine.ts";
import {
  type EngineLocations,
  type EnginePreference,
  type EngineProgram,
  type EngineSetupFailure,
  engineNameOf,
  formatEngineSetupFailure,
  formatProgram,
} from "../engines/engine-programs.ts";
import { builtIn, findEngines } from "../engines/find-engines.ts";
import { type PickedEngine, pickFastest, type TestedEngine } from "../engines/pick-fastest.ts";
import { runSelfTests } from "../engines/self-test.ts";
import { createSelfTestModel } from "../engines/self-test-model.ts";
import { cacheSelfTest, readCachedSelfTest } from "../engines/self-test-results.ts";

export type EngineChoiceOptions = {
  readonly locations: EngineLocations;
  /** Applied to every load of this server. */
  readonly loadSettings: Pick<LoadPlan, "threads" | "gpuLayers">;
  /** Called with a message for the log. */
  readonly onWarning: (message: string) => void;
  /** Where the built-in engine keeps evaluated prompts; absent keeps none. */
  readonly promptStore?: PromptStore | undefined;
};

export type EngineChoice = {
  readonly driver: EngineDriver;
  readonly program: EngineProgram;
  /** Which engine is used, and why, in one line. */
  readonly summary: string;
};

/**
 * Chooses the driver for local models. An engine requested for this start takes precedence over the stored choice. If
 * only the built-in engine is installed, no self-test is run.
 */
export async function chooseEngine(
  requested: EnginePreference | undefined,
  options: EngineChoiceOptions,
): Promise<EngineChoice> {
  const found = findEngines(options.locations);
  const preference = requested ?? (await readChosenEngine(options.locations.folder)) ?? "auto";
  const context = { isRequested: requested !== undefined, found, options };
  const { program, reason } = await pickEngine(preference, context);
  return {
    driver: await createDriver(program, { ...options, found }),
    program,
    summary: `Engine: ${formatProgram(program)}, ${reason}`,
  };
}

/**
 * Returns every engine with its self-test result. If one has no cached result, all are tested again, because speeds
 * measured at different times, under different load, are not comparable.
 */
export async function testEngines(
  programs: readonly EngineProgram[],
  { locations, loadSettings, onWarning }: EngineChoiceOptions,
): Promise<readonly TestedEngine[]> {
  const { folder } = locations;
  const cachedResults = await Promise.all(programs.map((program) => readCachedSelfTest(folder, program)));
  const cached = programs.flatMap((program, index) => {
    const result = cachedResults[index];
    return result === undefined ? [] : [{ program, result }];
  });
  if (cached.length === programs.length) return cached;
  await mkdir(folder, { recursive: true });
  const modelPath = await createSelfTestModel(folder);
  const drivers = await Promise.all(programs.map((program) => createProgramDriver(program, { onWarning })));
  const tested = (await runSelfTests(drivers, { modelPath, loadSettings })).flatMap((result, index) => {
    const program = programs[index];
    return program === undefined ? [] : [{ program, result }];
  });
  for (const { program, result } of tested) await cacheSelfTest(folder, program, result);
  return tested;
}

type PickContext = {
  /** Requested for this start, as opposed to a stored choice. */
  readonly isRequested: boolean;
  readonly found: readonly EngineProgram[];
  readonly options: EngineChoiceOptions;
};

async function pickEngine(
  preference: EnginePreference,
  { isRequested, found, options }: PickContext,
): Promise<PickedEngine> {
  const candidates =
    preference === "auto" ? found : found.filter((each) => engineNameOf(each) === preference);
  if (candidates.length === 0 && preference !== "auto") {
    const missing = { kind: "engine-missing", engine: preference } as const;
    if (isRequested) throw new FailureError<EngineSetupFailure>(missing);
    const cause = `the chosen engine ${preference} is no longer installed: ${formatEngineSetupFailure(missing)}`;
    options.onWarning(`Using the built-in engine, because ${cause}`);
    return { program: builtIn, reason: `because ${cause}` };
  }
  const reason = preference === "auto" ? "the only one installed" : "as requested";
  if (!candidates.some((program) => program !== builtIn)) return { program: builtIn, reason };
  if (preference === "auto" || preference === "binding")
    return pickFastest(await testEngines(candidates, options));
  const working = (await testEngines(candidates, options)).find(({ result }) => result.works);
  if (working !== undefined) return { program: working.program, reason };
  options.onWarning(`The engine ${preference} failed its self-test; using the built-in engine`);
  return { program: builtIn, reason: `${preference} failed its self-test` };
}

type DriverContext = Pick<EngineChoiceOptions, "onWarning" | "promptStore" | "locations"> & {
  readonly found: readonly EngineProgram[];
};

/** The driver of the chosen engine with its fallback, which is created when it is first needed. */
async function createDriver(program: EngineProgram, context: DriverContext): Promise<EngineDriver> {
  const { found, onWarning, promptStore, locations } = context;
  const chosen = await createProgramDriver(program, {
    onWarning,
    promptStore,
    // "hearth engine list" then shows it, and the next start uses another engine until the result has expired.
    onGpuLost: (reason) =>
      void cacheSelfTest(locations.folder, program, {
        works: false,
        reason: `the GPU was lost while it was used: ${reason}`,
      }).catch(() => undefined),
  });
  if (program.kind !== "binding") {
    const binding = memoize(() => createProgramDriver(builtIn, { onWarning, promptStore }));
    return withFallback(chosen, { binding, name: formatProgram(program), onWarning });
  }
  const mediaPrograms = found.filter(({ kind }) => kind !== "binding");
  if (mediaPrograms.length === 0) return chosen;
  const binding = (): Promise<EngineDriver> => Promise.resolve(chosen);
  const openVisionDriver = memoize(async () => {
    const mediaProgram = await pickMediaProgram(locations.folder, mediaPrograms);
    const name = formatProgram(mediaProgram);
    const driver = await createProgramDriver(mediaProgram, { onWarning, promptStore });
    return withFallback(driver, { binding, name, onWarning });
  });
  return {
    ...chosen,
    // The binding supports neither images nor audio, so a model with a projector runs on llama.cpp's own server.
    load: async (plan, loadOptions) =>
      plan.projectorPath === undefined
        ? chosen.load(plan, loadOptions)
        : (await openVisionDriver()).load(plan, loadOptions),
  };
}

/** The first one that has not failed its last self-test. */
async function pickMediaProgram(folder: string, programs: readonly EngineProgram[]): Promise<EngineProgram> {
  for (const program of programs) {
    if ((await readCachedSelfTest(folder, program))?.works !== false) return program;
  }
  return programs[0] ?? builtIn;
}

type ProgramDriverOptions = Pick<EngineChoiceOptions, "onWarning" | "promptStore"> & {
  readonly onGpuLost?: (reason: string) => void;
};

/** Imports the HTTP driver only if it is needed. */
async function createProgramDriver(
  program: EngineProgram,
  { onWarning, onGpuLost, promptStore }: ProgramDriverOptions,
): Promise<EngineDriver> {
  if (program.kind === "binding" && program.gpu !== undefined) {
    const { gpu: backend, buildFolder: folder, devices } = program;
    return createLlamaDriver({
      onWarning,
      ...(onGpuLost && { onGpuLost }),
      gpu: { backend, folder, devices },
    });
  }
  if (program.kind === "binding") {
    const { buildFolder } = program;
    return createLlamaDriver({
      onWarning,
      ...(buildFolder === undefined ? {} : { buildFolder }),
      ...(promptStore === undefined ? {} : { promptStore }),
    });
  }
  const { createLlamaServerDriver } = await import("@hearth-and-keep/upstream-engine");
  return createLlamaServerDriver({ program, onWarning });
}

function memoize<Value>(create: () => Promise<Value>): () => Promise<Value> {
  let created: Promise<Value> | undefined;
  return () => (created ??= create());
}

type Fallback = {
  readonly binding: () => Promise<EngineDriver>;
  readonly name: string;
  readonly onWarning: (message: string) => void;
};

/** If an engine cannot start a model, the built-in engine tries before the request fails. */
export function withFallback(first: EngineDriver, { binding, name, onWarning }: Fallback): EngineDriver {
  return {
    ...first,
    async load(plan, options) {
      try {
        return await first.load(plan, options);
      } catch (error) {
        if (options.signal.aborted || isModelFailure(error)) throw error;
        onWarning(`A model failed to start on ${name}; running it on the built-in engine`);
        return (await binding()).load(plan, options);
      }
    },
  };
}

/** Failures that any engine would report for this model on this machine. */
const modelFailures: ReadonlySet<string> = new Set<EngineFailure["kind"]>([
  "model-invalid",
  "insufficient-memory",
  "sandbox-unavailable",
  "template-failed",
]);

function isModelFailure(error: unknown): boolean {
  // Drivers throw only failures of the engine port; any other error means that the program cannot be started.
  return error instanceof FailureError && modelFailures.has((error.failure as EngineFailure).kind);
}
