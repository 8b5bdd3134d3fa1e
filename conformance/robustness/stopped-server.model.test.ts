import { setTimeout as sleep } from "node:timers/promises";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { descendantsOf } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startHearth } from "../../bench/served.ts";
import { workersOf } from "./workers-of.ts";

const stops = chooseSize({ ci: 1, show: 10, nightly: 10 });
/** Longer than a worker may be silent. */
const stopSeconds = chooseSize({ ci: 12, show: 15, nightly: 15 });

test.each(["the server", "the server and its workers, as Ctrl-Z does,"])(
  "stopping %s for longer than a worker may be silent kills no worker, and a running stream continues",
  { timeout: (stops * (stopSeconds + 20) + 60) * 1000 },
  async (stopped) => {
    await using hearth = await startHearth("tiny-llama.gguf", { HEARTH_THREADS: "1" });
    const { url } = hearth;
    await generate(url, 1);
    const before = workersOf(hearth.pid);
    expect(before).not.toEqual([]);
    const pids = stopped === "the server" ? [hearth.pid] : [hearth.pid, ...descendantsOf(hearth.pid)];
    for (let stop = 0; stop < stops; stop += 1) {
      const stream = generate(url, streamedTokens);
      await sleep(300);
      for (const pid of pids) process.kill(pid, "SIGSTOP");
      await sleep(stopSeconds * 1000);
      for (const pid of pids) process.kill(pid, "SIGCONT");
      expect(await stream).toMatchObject({ done: true });
    }
    expect(workersOf(hearth.pid)).toEqual(before);
    recordFigure({
      claim: "guard 3",
      text: `${stops} of ${stops} times stopping ${stopped.replace(/,$/u, "")} for ${stopSeconds} s killed no worker`,
      counted: { reached: stops, needed: stops },
    });
  },
);

/** Of a stream that is still running when the server is stopped. */
const streamedTokens = chooseSize({ ci: 800, show: 2000, nightly: 2000 });

/** Returns the last line of the stream. */
async function generate(url: string, tokens: number): Promise<unknown> {
  const options = { num_predict: tokens, num_ctx: 4096, temperature: 0 };
  const body = JSON.stringify({ model: "model", prompt: "Once upon a time", raw: true, options });
  const response = await fetch(`${url}/api/generate`, { method: "POST", body });
  return JSON.parse((await response.text()).trim().split("\n").at(-1) ?? "");
}
