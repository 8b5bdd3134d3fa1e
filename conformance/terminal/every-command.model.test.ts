import { mkdirSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { findFreePort, makeTemporaryFolder, startProcess } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { accessKey } from "../../apps/hearth/src/access/keys.ts";
import { commandTable } from "../../apps/hearth/src/commands/command-table.ts";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { type CommandResult, runHearth } from "./run-hearth.ts";
import { program } from "./terminal-window.ts";

const root = resolve(import.meta.dirname, "../..");
const maxColumns = 100;
const maxMessageColumns = 170;
const minOutputs = 60;

type CapturedOutput = { readonly title: string; readonly result: CommandResult };

/** Runs commands and records their output. */
class Capture {
  readonly outputs: CapturedOutput[] = [];
  readonly environment: Readonly<Record<string, string>>;

  constructor(environment: Readonly<Record<string, string>>) {
    this.environment = environment;
  }

  async run(
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
  ): Promise<CommandResult> {
    const result = await runHearth(args, { environment: { ...this.environment, ...variables } });
    this.outputs.push({ title: `hearth ${args.join(" ")}`.trim(), result });
    return result;
  }
}

/** Runs every command's help, its empty state, and each kind of error. */
async function captureAll(capture: Capture, folder: string): Promise<void> {
  await capture.run(["--help"]);
  await Promise.all(commandTable.map(({ name }) => capture.run([name, "--help"])));
  for (const args of [
    ["engine", "list", "--help"],
    ["engine", "use", "--help"],
  ])
    await capture.run(args);
  await captureWithoutServer(capture, folder);
}

async function captureWithoutServer(capture: Capture, folder: string): Promise<void> {
  const broken = join(folder, "Modelfile");
  writeFileSync(broken, "FROM tiny\nWHAT is this\n");
  writeFileSync(join(folder, "broken.gguf"), "GGUF but no more");
  for (const args of [
    ["lst"],
    ["frobnicate"],
    ["list", "--jsn"],
    ["show"],
    ["list"],
    ["ps"],
    ["pull", "tiny"],
    ["list", "--host", "not an address"],
    ["list", "--host", "nowhere.invalid"],
    ["list", "--api-key-file", "no-such-file"],
    ["run", "tiny"],
    ["stop"],
    ["stop", "--server"],
    ["logs"],
    ["logs", "--lines", "many"],
    ["create", "m"],
    ["create", "m", "-f", broken],
    ["create", "m", "--from", "no-such-file.gguf"],
    ["create", "m", "--from", join(folder, "broken.gguf")],
    ["create", "../m", "--from", join(folder, "broken.gguf")],
    ["create", "m", "--quantize", "q4_0"],
    ["prune"],
    ["prune", "--models", join(folder, "broken.gguf")],
    ["completion"],
    ["completion", "tcsh"],
    ["serve", "--port", "many", "--keep-alive", "soon"],
    ["serve", "--host", "0.0.0.0"],
    ["serve", "--models", join(folder, "broken.gguf")],
    ["serve", "--log-file", folder],
  ]) {
    await capture.run(args);
  }
}

async function captureWithServers(capture: Capture): Promise<void> {
  await using empty = await startTestServer({ models: {}, isOffline: true });
  const emptyServer = { HEARTH_HOST: empty.url };
  for (const args of [
    ["list"],
    ["list", "x"],
    ["ps"],
    ["show", "tiny"],
    ["remove", "tiny"],
    ["copy", "a", "b"],
    ["stop", "tiny"],
    ["push", "tiny"],
    ["pull", "tiny"],
    ["bench"],
    ["doctor"],
  ]) {
    await capture.run(args, emptyServer);
  }
  const failure = { kind: "engine-crashed", exitCode: null, signal: "SIGSEGV" } as const;
  await using crashing = await startTestServer({
    models: { tiny },
    script: () => [{ do: "crash", failure }],
  });
  const crashingServer = { HEARTH_HOST: crashing.url };
  await capture.run(["run", "tiny", "hello"], crashingServer);
  await capture.run(["run", "tiny", "hello", "--think=much"], crashingServer);
  await capture.run(["run", "tiny", "hello", "--image", "picture.png"], crashingServer);
  await capture.run(["run", "tiny", "hello", "--format", "no-such-file"], crashingServer);
  await capture.run(["bench", "tiny", "--clients", "none"], crashingServer);
  await capture.run(["list"], crashingServer);
  await capture.run(["pull", "bad name!"], crashingServer);
  await using narrow = await startTestServer({ models: { tiny }, limits: { memoryBudgetBytes: 1 } });
  await capture.run(["run", "tiny", "hello"], { HEARTH_HOST: narrow.url });
  const key = accessKey("one", "another key");
  await using locked = await startTestServer({ models: {}, access: { keys: [key] } });
  await capture.run(["list"], { HEARTH_HOST: locked.url });
  await capture.run(["list"], { HEARTH_HOST: locked.url, HEARTH_API_KEY: "wrong" });
}

/** Starts a server on a port that is in use. */
async function capturePortInUse(capture: Capture, folder: string): Promise<void> {
  const port = String(await findFreePort());
  const models = join(folder, "other-models");
  await using stack = new AsyncDisposableStack();
  stack.use(
    await startProcess({
      command: process.execPath,
      arguments: [program, "serve", "--port", port, "--models", models],
      environment: { HOME: folder },
      isReady: (output) => output.includes("listening on"),
    }),
  );
  await capture.run(["serve", "--port", port, "--models", models]);
}

test("every help text, error and empty state is plain text that fits the width and says what to do", {
  timeout: 180_000,
}, async () => {
  await using folder = await makeTemporaryFolder("every-command");
  const home = { HOME: folder.path, HEARTH_PORT: String(await findFreePort()), HEARTH_THREADS: "1" };
  const capture = new Capture({ ...home, COLUMNS: String(maxColumns) });
  await captureAll(capture, folder.path);
  await captureWithServers(capture);
  await capturePortInUse(capture, folder.path);
  writeReport(capture, folder.path);
  const machinePaths = [root, homedir(), tmpdir()].filter((path) => path !== "/");
  for (const { title, result } of capture.outputs) {
    const text = result.output + result.errors;
    expect(text.trim(), title).not.toBe("");
    expect(text, title).not.toMatch(/\n {4}at .*:\d+:\d+|\bE[A-Z]{4,}\b|\bundefined\b|\[object/u);
    const exposed = machinePaths.filter((path) => text.replaceAll(folder.path, "").includes(path));
    expect(exposed, title).toEqual([]);
    expect(widestLine(result.output), `${title}: ${result.output}`).toBeLessThanOrEqual(maxColumns);
    // A message is one line for scripts; a terminal wraps it.
    expect(widestLine(result.errors.replaceAll(folder.path, "")), title).toBeLessThanOrEqual(
      maxMessageColumns,
    );
    const isExplained = result.code === 0 || result.errors.trim() !== "";
    expect(isExplained, title).toBe(true);
  }
  expect(capture.outputs.length).toBeGreaterThanOrEqual(minOutputs);
  recordFigure({
    claim: "people 3",
    text: `${capture.outputs.length} of at least ${minOutputs} help texts, errors and empty states checked; all of them in build/people/every-command.txt`,
    counted: { reached: capture.outputs.length, needed: minOutputs },
  });
});

function widestLine(text: string): number {
  return Math.max(...text.split("\n").map((line) => line.length));
}

function writeReport({ outputs }: Capture, folder: string): void {
  const reportFolder = join(root, "build/people");
  mkdirSync(reportFolder, { recursive: true });
  const sections = outputs.map(
    ({ title, result }) => `$ ${title}\n${result.output}${result.errors}(exit code ${result.code})\n`,
  );
  writeFileSync(join(reportFolder, "every-command.txt"), sections.join("\n").replaceAll(folder, "…"));
}
