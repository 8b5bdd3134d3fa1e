import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import {
  countExaminedFrames,
  createHostileFrames,
  hijackedWorkerProgram,
} from "@hearth-and-keep/llama-engine/testing";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { buildEngineWorker } from "../../scripts/build-engine-worker.ts";
import { readMegabytes, startObservedServer } from "./start-observed-server.ts";

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

const requests = chooseSize({ ci: 20, show: 1000, nightly: 5000 });
const maxGrowthMegabytes = 60;
const maxSeconds = 30;

const bodies: readonly (readonly [path: string, body: object])[] = [
  ["/api/generate", { prompt: "Once", options: { num_predict: 24, temperature: 0 } }],
  [
    "/api/chat",
    { messages: [{ role: "user", content: "Once" }], options: { num_predict: 24, temperature: 0 } },
  ],
  [
    "/v1/chat/completions",
    { messages: [{ role: "user", content: "Once" }], max_tokens: 24, temperature: 0, stream: true },
  ],
  [
    "/v1/messages",
    { messages: [{ role: "user", content: "Once" }], max_tokens: 24, temperature: 0, stream: true },
  ],
];

type Response = { readonly status: number; readonly text: string };

async function send(url: string, [path, body]: readonly [string, object]): Promise<Response> {
  const response = await fetch(url + path, {
    method: "POST",
    body: JSON.stringify({ model: "tiny", ...body }),
    signal: AbortSignal.timeout(maxSeconds * 1000),
  });
  return { status: response.status, text: await response.text() };
}

/** The output of any of the APIs, without times and identifiers. */
function writtenText(response: Response | undefined): string {
  const texts = response?.text.matchAll(/"(?:response|content|text)":"((?:[^"\\]|\\.)*)"/gu) ?? [];
  return [...texts].map(([, text]) => text).join("");
}

/** How sums are rounded depends on what is cached, so that two outputs of random weights can part later on. */
function beginningOf(response: Response | undefined): string {
  return writtenText(response).slice(0, 40);
}

async function prepareWorker(
  folder: string,
): Promise<{ readonly program: string; readonly seedFile: string }> {
  await buildEngineWorker(join(folder, "program"), hijackedWorkerProgram);
  await symlink(pathOf("../../node_modules"), join(folder, "node_modules"));
  const programs = join(folder, "program/engine/worker");
  return { program: join(programs, "engine-worker.js"), seedFile: join(programs, "seed") };
}

test("whatever a worker writes, the server lives, its memory stays bounded, and the model restarts", async () => {
  await using folder = await makeTemporaryFolder("hijacked");
  const { program, seedFile } = await prepareWorker(folder.path);
  await using server = await startObservedServer("hijacked-worker-server.ts", { args: [program] });
  const { url } = server;
  // One after another over one connection: others would be idle until the server closes them, just when one is used.
  const expected: Response[] = [];
  for (const body of bodies) expected.push(await send(url, body));
  expect(expected.map(({ status }) => status)).toEqual(bodies.map(() => 200));
  const before = await server.measureMegabytes();
  const counts = { frames: 0, ended: 0, answered: 0 };
  let peak = before;
  for (let seed = 1; seed <= requests; seed += 1) {
    await writeFile(seedFile, String(seed));
    const body = bodies[seed % bodies.length] ?? (["", {}] as const);
    const { status, text } = await send(url, body).catch((error: unknown) => {
      throw new Error(
        `seed ${seed} of ${body[0]}: the server ${server.isRunning() ? "runs" : `has exited\n${server.output()}`}`,
        { cause: error },
      );
    });
    expect({ seed, status, text }).not.toMatchObject({ text: "" });
    const { examined, isFatal } = await countExaminedFrames(createHostileFrames(seed));
    counts.frames += examined;
    counts.ended += Number(isFatal);
    counts.answered += Number(status === 200);
    peak = Math.max(peak, readMegabytes(server.pid));
  }
  await rm(seedFile);
  expect(server.isRunning()).toBe(true);
  const after = await server.measureMegabytes();
  expect(after - before).toBeLessThan(maxGrowthMegabytes);
  for (const [index, body] of bodies.entries()) {
    expect(beginningOf(await send(url, body))).toBe(beginningOf(expected[index]));
  }
  expect(counts.ended).toBeGreaterThan(0);
  expect(counts.answered).toBeGreaterThan(0);
  recordFigure({
    claim: "guard 2",
    text: `${counts.frames} hostile frames of a real worker in ${requests} of ${requests} requests: ${counts.ended} times the worker was ended and the model loaded again, memory ${Math.round(after - before)} MB more (peak ${Math.round(peak - before)})`,
    counted: { reached: counts.frames, needed: requests * 6 },
  });
}, 3_600_000);
