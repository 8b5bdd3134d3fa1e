/**
 * @module
 * What tests of the driver share: a worker that opens broken model files in native code, locked in and with
 * little memory, and is used again for the next file until it dies or falls silent.
 * Promises that a file costs at most its worker and a bounded wait. Imported by tests of the driver only.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { on, once } from "node:events";
import { fileURLToPath } from "node:url";
import { foldersOfProgram, lookAtMachine, planWorkerLaunch } from "@hearth-and-keep/engine-host";

/** Straight in native code, or as the binding does it, which reads the file by itself first. */
type Way = "native" | "binding";
export type Outcome = "opened" | "refused" | "died" | "hung";

export type ReusedWorker = AsyncDisposable & {
  /** What comes of one file; after a death or a silence the next file gets a fresh worker. */
  open(path: string, way: Way): Promise<Outcome>;
  countStarts(): number;
};

type Limits = { readonly silentMilliseconds: number; readonly mostBytes: number };

type Running = { readonly child: ChildProcess; readonly answers: AsyncIterator<readonly unknown[]> };

const program = fileURLToPath(new URL("../fixtures/vocabulary-worker.ts", import.meta.url));
const machine = lookAtMachine();
const longestStart = 30_000;

/** Opens files of one folder, the only one of ours the worker sees. */
export function reuseWorker(folder: string, limits: Limits): ReusedWorker {
  let running: Running | undefined;
  let starts = 0;

  async function worker(): Promise<Running> {
    if (running !== undefined) return running;
    starts += 1;
    running = start(folder, limits);
    const first = await nextAnswer(running, longestStart);
    if (first !== "ready") throw new Error(`Cannot start a worker: it answers ${JSON.stringify(first)}`);
    return running;
  }

  async function end(): Promise<void> {
    const ended = running;
    running = undefined;
    if (ended !== undefined) await stop(ended.child);
  }

  return {
    countStarts: () => starts,
    async open(path, way) {
      const current = await worker();
      current.child.send({ path, way });
      const outcome = asOutcome(await nextAnswer(current, limits.silentMilliseconds));
      if (outcome === "died" || outcome === "hung") await end();
      return outcome;
    },
    [Symbol.asyncDispose]: end,
  };
}

function start(folder: string, { mostBytes }: Limits): Running {
  const launch = planWorkerLaunch(
    {
      nodeProgram: process.execPath,
      workerProgram: program,
      modelFiles: [folder],
      programFolders: foldersOfProgram(program),
      memory: { limitBytes: mostBytes },
    },
    machine,
  );
  const child = spawn(launch.command, [...launch.words], {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: launch.environment,
  });
  return { child, answers: on(child, "message", { close: ["exit"] }) };
}

async function nextAnswer({ answers }: Running, milliseconds: number): Promise<unknown> {
  const silence = Promise.withResolvers<"hung">();
  const timer = setTimeout(() => silence.resolve("hung"), milliseconds);
  const answer = answers.next().then(({ done, value }) => (done === true ? "died" : value[0]));
  return Promise.race([answer, silence.promise]).finally(() => clearTimeout(timer));
}

function asOutcome(answer: unknown): Outcome {
  if (answer === "opened" || answer === "refused" || answer === "died" || answer === "hung") return answer;
  throw new Error(`Cannot understand the worker's answer ${JSON.stringify(answer)}`);
}

/** Only this child, by its own id; the walls around the worker go with their parent. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
