import type { Engine } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect } from "vitest";
import { greedy, type LoadSmolLm, never, storyPrompts, time } from "./engine-under-test.ts";
import { percentile, upperBound } from "./rounds.ts";

export type KillPlan = {
  readonly load: LoadSmolLm;
  /** The PIDs of the engine processes. */
  readonly processes: () => readonly number[];
  readonly claim: string;
};

/** CI only checks that restarts work; `show` and the nightly run repeat them more often. */
const kills = chooseSize({ ci: 3, show: 50, nightly: 500 });
const [story = ""] = storyPrompts(1);

/** Each SIGSTOP takes ten seconds until the engine counts as hung, so it is used less often than the others. */
function signalOf(round: number): NodeJS.Signals {
  if (round % 10 === 3) return "SIGSTOP";
  return (["SIGKILL", "SIGSEGV", "SIGABRT"] as const)[round % 3] ?? "SIGKILL";
}

/** Streams endlessly and records the time before each chunk of text. */
function recordGaps(
  engine: Engine,
  signal: AbortSignal,
): { readonly gaps: number[]; readonly done: Promise<void> } {
  const gaps: number[] = [];
  const done = (async () => {
    while (!signal.aborted) {
      let last = performance.now();
      for await (const event of engine.generate(greedy(story, { maxTokens: 400 }), signal)) {
        if (event.type === "text-delta") gaps.push(performance.now() - last);
        last = performance.now();
      }
    }
  })().catch(() => undefined);
  return { gaps, done };
}

async function streamUntilFailure(engine: Engine): Promise<{ kind: string; at: number }> {
  try {
    for await (const event of engine.generate(greedy(story, { maxTokens: 1500 }), never)) void event;
    return { kind: "finished", at: performance.now() };
  } catch (error) {
    const failure = error instanceof FailureError ? error.failure : { kind: String(error) };
    return { kind: failure.kind, at: performance.now() };
  }
}

/** Kills engines during generation while another model continues, and checks the delays this causes. */
export async function killEngines({ load, processes, claim }: KillPlan): Promise<void> {
  await using other = await load({ sequences: 1 });
  const [otherPid] = processes();
  const results: Record<"failure" | "stopped" | "reload", number[]> = {
    failure: [],
    stopped: [],
    reload: [],
  };
  const baselineEnd = new AbortController();
  const baseline = recordGaps(other, baselineEnd.signal);
  await using neighbour = await load({ sequences: 1 });
  await time(neighbour, greedy(story, { maxTokens: 250 }));
  baselineEnd.abort(new Error("enough"));
  await baseline.done;
  await neighbour.unload();
  const killingEnd = new AbortController();
  const during = recordGaps(other, killingEnd.signal);
  for (let round = 0; round < kills; round += 1) {
    const loadedFrom = performance.now();
    await using victim = await load({ sequences: 2 });
    results.reload.push(performance.now() - loadedFrom);
    const callers = [streamUntilFailure(victim), streamUntilFailure(victim)];
    await new Promise((resolve) => setTimeout(resolve, 150));
    const signal = signalOf(round);
    const killedAt = performance.now();
    for (const pid of processes()) if (pid !== otherPid) process.kill(pid, signal);
    for (const { kind, at } of await Promise.all(callers)) {
      expect(kind).toBe(signal === "SIGSTOP" ? "engine-hung" : "engine-crashed");
      (signal === "SIGSTOP" ? results.stopped : results.failure).push(at - killedAt);
    }
  }
  killingEnd.abort(new Error("enough"));
  await during.done;
  const gapRatio = percentile(during.gaps, 0.99) / percentile(baseline.gaps, 0.99);
  const [failure, stopped, reload] = [results.failure, results.stopped, results.reload].map((times) =>
    Math.max(...times),
  );
  recordFigure({
    claim,
    text: `${kills} kills: failures after at most ${failure?.toFixed(0)} ms (needed 500), hangs detected after ${stopped?.toFixed(0)} ms (needed 15000), reload at most ${reload?.toFixed(0)} ms (needed 5000), p99 token gap of the other model ${gapRatio.toFixed(2)} times its baseline (needed 2)`,
    counted: { reached: results.reload.length, needed: kills },
  });
  expect(failure).toBeLessThanOrEqual(upperBound(500));
  expect(stopped).toBeLessThanOrEqual(upperBound(15_000));
  expect(reload).toBeLessThanOrEqual(upperBound(5000));
  expect(gapRatio).toBeLessThanOrEqual(upperBound(2));
}
