import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  findFreePort,
  makeTemporaryFolder,
  preparePython,
  seededEnvironment,
  startLlamaServer,
  startModelRegistry,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { upperBound } from "../../bench/rounds.ts";
import { packAndInstall } from "../../claims/ground/pack-and-install.ts";
import { seedRegistry } from "../transfers/seed-registry.ts";
import { runHearth } from "./run-hearth.ts";

const smolFile = "smollm2-135m-instruct-q4_1.gguf";
const maxSeconds = 60;
const prompt = "What is the capital of France?";

type Step = { readonly name: string; readonly seconds: number };

async function timed(name: string, work: () => Promise<unknown>): Promise<Step> {
  const startedAt = performance.now();
  await work();
  return { name, seconds: (performance.now() - startedAt) / 1000 };
}

/** Runs a command until the first bytes of the response are on standard output. */
async function runToFirstToken(
  program: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<void> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...environment, ...seededEnvironment },
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout, "data");
  await once(child, "close");
  expect(child.exitCode).toBe(0);
}

/** Hearth from its tarball: installs it, then pulls, starts, loads and prompts with the documented commands. */
async function stepsOfHearth(folder: string): Promise<readonly Step[]> {
  await using registry = await startModelRegistry();
  await seedRegistry(registry, { repository: "team/smol", file: await testModel(smolFile) });
  const model = `${new URL(registry.url).host}/team/smol`;
  const installed = packAndInstall("hearth", folder);
  const program = realpathSync(installed.program);
  const environment = {
    HOME: folder,
    HEARTH_PORT: String(await findFreePort()),
    HEARTH_THREADS: "1",
    HEARTH_PRIVATE_REGISTRIES: "127.0.0.1",
    PATH: "/usr/bin:/bin",
  };
  try {
    const first = await timed("run: start the server, pull and load the model, respond", async () => {
      const result = await runHearth(["run", model, "--insecure", "--verbose", "hi"], {
        environment,
        program,
      });
      expect(result.code, result.errors).toBe(0);
      expect(result.errors).toContain("Started a server");
    });
    const again = await timed("run: first token of the next prompt", () =>
      runToFirstToken(program, ["run", model, prompt], environment),
    );
    return [{ name: "install the tarball", seconds: installed.seconds }, first, again];
  } finally {
    await runHearth(["stop", "--server"], { environment, program });
  }
}

/** llama.cpp's own server: creates a Python environment, installs its package, and serves a downloaded file. */
async function stepsByHand(folder: string): Promise<readonly Step[]> {
  const { interpreter } = await preparePython();
  const environment = join(folder, "venv");
  const model = await testModel(smolFile);
  const install = await timed("create a Python environment, install xllamacpp", async () => {
    execFileSync(interpreter, ["-m", "venv", "--without-pip", environment]);
    // Copies the package from the environment that the tests share, because neither side counts downloads.
    const script = "import xllamacpp, os; print(os.path.dirname(xllamacpp.__file__))";
    const source = execFileSync(interpreter, ["-c", script], { encoding: "utf8" }).trim();
    execFileSync("cp", ["-r", source, environment]);
  });
  let url = "";
  await using stack = new AsyncDisposableStack();
  const start = await timed("start the server, which loads the file", async () => {
    url = stack.use(await startLlamaServer({ model })).url;
  });
  const firstToken = await timed("curl: first token", async () => {
    const body = JSON.stringify({
      messages: [{ role: "user", content: prompt }],
      stream: true,
      max_tokens: 8,
    });
    const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body });
    await response.body?.getReader().read();
  });
  return [install, start, firstToken];
}

test("installing Hearth and getting a first token takes at most a minute, compared with the same steps by hand", {
  timeout: 240_000,
}, async () => {
  await using ours = await makeTemporaryFolder("first-token");
  await using theirs = await makeTemporaryFolder("first-token-by-hand");
  const hearth = await stepsOfHearth(ours.path);
  const byHand = await stepsByHand(theirs.path);
  const total = hearth.reduce((sum, { seconds }) => sum + seconds, 0);
  expect(total).toBeLessThanOrEqual(upperBound(maxSeconds));
  for (const [label, steps] of [
    ["Hearth", hearth],
    ["by hand", byHand],
  ] as const) {
    const list = steps.map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`).join(", ");
    const sum = steps.reduce((subtotal, { seconds }) => subtotal + seconds, 0);
    recordFigure({ claim: "people 1", text: `${label}: ${list}; total ${sum.toFixed(1)} s` });
  }
  recordFigure({
    claim: "people 1",
    text: `${hearth.length} of 3 steps, ${total.toFixed(1)} s of at most ${maxSeconds}`,
    counted: { reached: hearth.length, needed: 3 },
  });
});
