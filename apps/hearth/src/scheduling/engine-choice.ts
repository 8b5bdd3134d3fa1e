import { mkdir } from "node:fs/promises";
import type { EngineDriver, EngineFailure, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { createLlamaDriver } from "@hearth-and-keep/llama-engine";
import { readChosenEngine } from "../engines/chosen-engine.ts";
import {
  type EnginePlaces,
  type EngineProgram,
  type EngineSetupFailure,
  type EngineWish,
  explainEngineSetup,
  nameProgram,
} from "../engines/engine-programs.ts";
import { builtIn, findEngines } from "../engines/find-engines.ts";
import { type PickedEngine, pickFastest, type TestedEngine } from "../engines/pick-fastest.ts";
import { testTogether } from "../engines/self-test.ts";
import { makeSelfTestModel } from "../engines/self-test-model.ts";
import { recallSelfTest, rememberSelfTest } from "../engines/self-test-results.ts";

export type ChoiceParts = {
  readonly places: EnginePlaces;
  /** How every model of this server is loaded. */
  readonly loadSettings: Pick<LoadPlan, "threads" | "gpuLayers">;
  /** Hears, in a plain sentence, what someone should look at. */
  readonly onWarning: (sentence: string) => void;
};

export type EngineChoice = {
  readonly driver: EngineDriver;
  readonly program: EngineProgram;
  /** Which engine runs, and why, in one line. */
  readonly sentence: string;
};

/**
 * The driver for models of this machine. What a person asked for at this start wins over what they chose before; with
 * nothing beside the built-in engine it costs no more than a look.
 */
export async function chooseEngine(asked: EngineWish | undefined, parts: ChoiceParts): Promise<EngineChoice> {
  const found = findEngines(parts.places);
  const wish = asked ?? (await readChosenEngine(parts.places.folder)) ?? "auto";
  const { program, reason } = await pickEngine(wish, { isAsked: asked !== undefined, found, parts });
  return {
    driver: await assemble(program, { found, onWarning: parts.onWarning }),
    program,
    sentence: `Engine: ${nameProgram(program)}, ${reason}`,
  };
}

/**
 * Every engine with what its self-test says. When one was never tested all are tested again: speeds of different
 * hours, when the machine did different things, do not compare.
 */
export async function testEngines(
  programs: readonly EngineProgram[],
  { places: { folder }, loadSettings, onWarning }: ChoiceParts,
): Promise<readonly TestedEngine[]> {
  const remembered = await Promise.all(programs.map((program) => recallSelfTest(folder, program)));
  const known = programs.flatMap((program, index) => {
    const result = remembered[index];
    return result === undefined ? [] : [{ program, result }];
  });
  if (known.length === programs.length) return known;
  await mkdir(folder, { recursive: true });
  const modelPath = await makeSelfTestModel(folder);
  const drivers = await Promise.all(programs.map((program) => driverFor(program, onWarning)));
  const tested = (await testTogether(drivers, { modelPath, loadSettings })).flatMap((result, index) => {
    const program = programs[index];
    return program === undefined ? [] : [{ program, result }];
  });
  for (const { program, result } of tested) await rememberSelfTest(folder, program, result);
  return tested;
}

type Picking = {
  /** At this start, not once before. */
  readonly isAsked: boolean;
  readonly found: readonly EngineProgram[];
  readonly parts: ChoiceParts;
};

async function pickEngine(wish: EngineWish, { isAsked, found, parts }: Picking): Promise<PickedEngine> {
  const wanted = wish === "auto" ? found : found.filter(({ kind }) => kind === wish);
  if (wanted.length === 0 && wish !== "auto") {
    const missing = { kind: "engine-missing", engine: wish } as const;
    if (isAsked) throw new FailureError<EngineSetupFailure>(missing);
    const gone = `the engine that was chosen, ${wish}, is not there any more: ${explainEngineSetup(missing)}`;
    parts.onWarning(`The built-in engine is used, because ${gone}`);
    return { program: builtIn, reason: `because ${gone}` };
  }
  const reason = wish === "auto" ? "no other one is installed" : "it was asked for";
  if (!wanted.some((program) => program !== builtIn)) return { program: builtIn, reason };
  if (wish === "auto" || wish === "binding") return pickFastest(await testEngines(wanted, parts));
  const works = (await testEngines(wanted, parts)).find(({ result }) => result.works);
  if (works !== undefined) return { program: works.program, reason };
  parts.onWarning(`The engine ${wish} failed its self-test, so the built-in one is used`);
  return { program: builtIn, reason: `${wish} failed its self-test` };
}

type Surroundings = {
  readonly found: readonly EngineProgram[];
  readonly onWarning: (sentence: string) => void;
};

/** The chosen engine with its stand-in. The one that is not chosen is looked for when it is first needed. */
async function assemble(program: EngineProgram, { found, onWarning }: Surroundings): Promise<EngineDriver> {
  const chosen = await driverFor(program, onWarning);
  if (program.kind !== "binding") {
    const binding = once(() => driverFor(builtIn, onWarning));
    return withFallback(chosen, { binding, name: nameProgram(program), onWarning });
  }
  const seeing = found.find(({ kind }) => kind !== "binding");
  if (seeing === undefined) return chosen;
  const name = nameProgram(seeing);
  const binding = (): Promise<EngineDriver> => Promise.resolve(chosen);
  const openEyes = once(async () =>
    withFallback(await driverFor(seeing, onWarning), { binding, name, onWarning }),
  );
  return {
    // The binding knows no images: a model with a projector goes to llama.cpp's own server.
    load: async (plan, parts) =>
      plan.projectorPath === undefined ? chosen.load(plan, parts) : (await openEyes()).load(plan, parts),
  };
}

/** Only an engine that runs over HTTP needs the code for it. */
async function driverFor(
  program: EngineProgram,
  onWarning: (sentence: string) => void,
): Promise<EngineDriver> {
  if (program.kind === "binding") {
    const { buildFolder } = program;
    return createLlamaDriver({ onWarning, ...(buildFolder === undefined ? {} : { buildFolder }) });
  }
  const { createLlamaServerDriver } = await import("@hearth-and-keep/upstream-engine");
  return createLlamaServerDriver({ program, onWarning });
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}

type Fallback = {
  readonly binding: () => Promise<EngineDriver>;
  readonly name: string;
  readonly onWarning: (sentence: string) => void;
};

/** A model that its engine cannot start is tried on the built-in one before anybody is refused. */
export function withFallback(first: EngineDriver, { binding, name, onWarning }: Fallback): EngineDriver {
  return {
    async load(plan, parts) {
      try {
        return await first.load(plan, parts);
      } catch (problem) {
        if (parts.signal.aborted || isOfTheModel(problem)) throw problem;
        onWarning(`A model did not start on ${name}, so it runs on the built-in engine`);
        return (await binding()).load(plan, parts);
      }
    },
  };
}

/** What every engine would say of this model on this machine. */
const ofTheModel: ReadonlySet<string> = new Set<EngineFailure["kind"]>([
  "model-invalid",
  "memory-lacking",
  "template-failed",
]);

function isOfTheModel(problem: unknown): boolean {
  // Drivers throw the port's failures only; anything else is a program that cannot be started.
  return problem instanceof FailureError && ofTheModel.has((problem.failure as EngineFailure).kind);
}
