import { setTimeout as sleep } from "node:timers/promises";
import type { SignalPassing } from "./pass-signals.ts";
import {
  type Launch,
  type Program,
  type ProgramExit,
  type RunningProgram,
  startProgram,
} from "./run-program.ts";

export type Supervision = {
  /** What the program is started with; each further one restarts it. */
  readonly launches: AsyncIterator<Launch, undefined>;
  readonly signals: SignalPassing;
  /** Calls the function, with what the program must not inherit from this process undone. */
  readonly start: (start: () => RunningProgram) => RunningProgram;
};

const endingSignals: ReadonlySet<NodeJS.Signals> = new Set(["SIGTERM", "SIGINT", "SIGQUIT"]);
/** As supervisors of services give a program to end. */
const stopMilliseconds = 10_000;

/**
 * Runs the program until it ends by itself. A restart is SIGTERM, then SIGKILL after ten seconds. Once a signal has asked
 * the program to end, it is not started again, however long it takes to end. SIGHUP asks many programs to read their files
 * again, so it counts only while the program is being stopped.
 */
export async function superviseProgram(
  program: Program,
  { launches, signals, start }: Supervision,
): Promise<ProgramExit> {
  const first = await launches.next();
  if (first.value === undefined) throw new TypeError("There is nothing to start the program with");
  let launch: Launch = first.value;
  let isEnding = false;
  for (;;) {
    const current = launch;
    const running = start(() => startProgram(program, current));
    let isStopping = false;
    signals.passTo((signal, isDelivered) => {
      isEnding ||= endingSignals.has(signal) || (isStopping && signal === "SIGHUP");
      if (!isDelivered) running.send(signal);
    });
    const next = await Promise.race([running.exit, nextLaunch(launches)]).catch(async (error: unknown) => {
      await stop(running);
      throw error;
    });
    if ("code" in next) return next;
    if (isEnding) return running.exit;
    isStopping = true;
    const exit = await stop(running);
    if (isEnding) return exit;
    launch = next;
  }
}

/** Never settles when there are no more. */
async function nextLaunch(launches: AsyncIterator<Launch, undefined>): Promise<Launch> {
  const { value } = await launches.next();
  return value ?? new Promise<never>(() => undefined);
}

async function stop(running: RunningProgram): Promise<ProgramExit> {
  const stopped = new AbortController();
  running.send("SIGTERM");
  const kill = sleep(stopMilliseconds, undefined, { signal: stopped.signal }).then(
    () => running.send("SIGKILL"),
    () => undefined,
  );
  try {
    return await running.exit;
  } finally {
    stopped.abort();
    await kill;
  }
}
