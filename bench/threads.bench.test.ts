import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import type { Engine } from "@hearth-and-keep/engine";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { greedy, loadSmolLm, never, storyRequests, time } from "./engine-under-test.ts";
import { lowerBound, median, sized } from "./rounds.ts";

const cores = availableParallelism();
const rounds = sized(5, 1);
const maxMilliseconds = sized(3000, 1000);

/** Tokens per second, measured for a few seconds at most: next to a busy core, too many threads barely progress. */
async function speed(engine: Engine): Promise<number> {
  const [request] = storyRequests(1, 160);
  if (request === undefined) return 0;
  const startedAt = performance.now();
  let tokens = 0;
  for await (const event of engine.generate(request, never)) {
    if (event.type === "text-delta") tokens = event.outputTokens ?? tokens;
    if (performance.now() - startedAt > maxMilliseconds) break;
  }
  const measured = (tokens * 1000) / (performance.now() - startedAt);
  // A running batch continues after a cancellation; wait for it, so that it does not slow the next engine.
  await time(engine, greedy("Hi", { maxTokens: 1 }));
  return measured;
}

/** Starts other processes that keep this many cores busy. */
async function occupyCores(count: number): Promise<AsyncDisposable> {
  const programs = Array.from({ length: count }, () => spawn(process.execPath, ["-e", "for (;;);"]));
  return {
    async [Symbol.asyncDispose]() {
      for (const program of programs) {
        program.kill("SIGKILL");
        await once(program, "exit");
      }
    },
  };
}

const cases = [
  { state: "all cores but one busy", busy: cores - 1 },
  { state: "idle", busy: 0 },
];

test.each(chooseSize({ ci: cases.slice(0, 1), show: cases, nightly: cases }))(
  "the chosen thread count is nearly the fastest one: $state",
  { timeout: 300_000 },
  async ({ state, busy }) => {
    await using others = await occupyCores(busy);
    expect(others).toBeDefined();
    const counts = Array.from({ length: cores }, (_none, index) => index + 1);
    await using chosen = await loadSmolLm({ sequences: 1 }, "threads by measurement");
    const fixed: { readonly threads: number; readonly engine: Engine; readonly speeds: number[] }[] = [];
    try {
      for (const threads of counts) {
        fixed.push({ threads, engine: await loadSmolLm({ sequences: 1, threads }), speeds: [] });
      }
      const ratios: number[] = [];
      await speed(chosen);
      for (let round = 0; round < rounds; round += 1) {
        const own = await speed(chosen);
        for (const each of fixed) each.speeds.push(await speed(each.engine));
        ratios.push(own / Math.max(...fixed.map(({ speeds }) => speeds.at(-1) ?? 0)));
      }
      const ratio = median(ratios);
      const all = fixed.map(({ threads, speeds }) => `${threads}: ${median(speeds).toFixed(1)}`).join(", ");
      recordFigure({
        claim: "engine 10",
        text: `${ratio.toFixed(2)} of the fastest thread count, ${state}, with ${chosen.describe().threads} threads at the end (tokens/s by thread count: ${all}), needed 0.9`,
      });
      expect(ratio).toBeGreaterThanOrEqual(lowerBound(0.9));
    } finally {
      for (const { engine } of fixed) await engine.unload();
    }
  },
);
