import type { Engine } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { recordFigure, scale } from "@hearth-and-keep/figures";
import { expect } from "vitest";
import { greedy, type LoadSmolLm, never, storyPrompts, time } from "./engine-under-test.ts";
import { percentile, sized, upperBound } from "./rounds.ts";

export type KillPlan = {
  readonly load: LoadSmolLm;
  /** Ids of the engines' processes. */
  readonly processes: () => readonly number[];
  readonly claim: string;
};

/** CI looks for a broken restart; how often it holds is judged by `show`, and at night. */
const kills = scale === "nightly" ? 500 : sized(50, 4);
const [story = ""] = storyPrompts(1);

/** STOP costs ten seconds of silence each, so it comes less often than the others. */
function signalOf(round: number): NodeJS.Signals {
  if (round % 10 === 3) return "SIGSTOP";
  return (["SIGKILL", "SIGSEGV", "SIGABRT"] as const)[round % 3] ?? "SIGKILL";
}

/** Streams without end and notes how long each text had to be waited for. */
function noteGaps(
  engine: Engine,
  hangUp: AbortSignal,
): { readonly gaps: number[]; readonly done: Promise<void> } {
  const gaps: number[] = [];
  const done = (async () => {
    while (!hangUp.aborted) {
      let last = performance.now();
      for await (const event of engine.generate(greedy(story, { maxTokens: 400 }), hangUp)) {
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
  } catch (problem) {
    const failure = problem instanceof FailureError ? problem.failure : { kind: String(problem) };
    return { kind: failure.kind, at: performance.now() };
  }
}

/** Kills engines in the middle of their answers while another model goes on, and judges what it costs. */
export async function killEngines({ load, processes, claim }: KillPlan): Promise<void> {
  await using other = await load({ sequences: 1 });
  const [otherPid] = processes();
  const results: Record<"failure" | "stopped" | "reload", number[]> = {
    failure: [],
    stopped: [],
    reload: [],
  };
  const quiet = new AbortController();
  const baseline = noteGaps(other, quiet.signal);
  await using neighbour = await load({ sequences: 1 });
  await time(neighbour, greedy(story, { maxTokens: 250 }));
  quiet.abort(new Error("enough"));
  await baseline.done;
  await neighbour.unload();
  const end = new AbortController();
  const during = noteGaps(other, end.signal);
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
  end.abort(new Error("enough"));
  await during.done;
  const gapRatio = percentile(during.gaps, 0.99) / percentile(baseline.gaps, 0.99);
  const [failure, stopped, reload] = [results.failure, results.stopped, results.reload].map((times) =>
    Math.max(...times),
  );
  recordFigure({
    claim,
    text: `${kills} kills: failures after at most ${failure?.toFixed(0)} ms (needed 500), hangs after ${stopped?.toFixed(0)} ms (needed 15000), reload at most ${reload?.toFixed(0)} ms (needed 5000), the other model's 99th token gap ${gapRatio.toFixed(2)} of its baseline (needed 2)`,
    counted: { reached: results.reload.length, needed: kills },
  });
  expect(failure).toBeLessThanOrEqual(upperBound(500));
  expect(stopped).toBeLessThanOrEqual(upperBound(15_000));
  expect(reload).toBeLessThanOrEqual(upperBound(5000));
  expect(gapRatio).toBeLessThanOrEqual(upperBound(2));
}
