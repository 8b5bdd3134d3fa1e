import { mkdirSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { findFreePort, makeTemporaryFolder, startProcess } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { commandTable } from "../../apps/hearth/src/commands/command-table.ts";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { type Ended, runHearth } from "./run-hearth.ts";
import { program } from "./terminal-window.ts";

const root = resolve(import.meta.dirname, "../..");
const widestColumns = 100;
const widestSentence = 170;
const neededTexts = 60;

type Captured = { readonly title: string; readonly ended: Ended };

/** Titles of what was typed, with what the program said. */
class Capture {
  readonly texts: Captured[] = [];
  readonly environment: Readonly<Record<string, string>>;

  constructor(environment: Readonly<Record<string, string>>) {
    this.environment = environment;
  }

  async run(words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const ended = await runHearth(words, { environment: { ...this.environment, ...more } });
    this.texts.push({ title: `hearth ${words.join(" ")}`.trim(), ended });
    return ended;
  }
}

/** Asks every command for help, for what it says of nothing, and for each way a person can go wrong. */
async function captureAll(capture: Capture, folder: string): Promise<void> {
  await capture.run(["--help"]);
  await Promise.all(commandTable.map(({ name }) => capture.run([name, "--help"])));
  for (const words of [
    ["engine", "list", "--help"],
    ["engine", "use", "--help"],
  ])
    await capture.run(words);
  await captureWithoutServer(capture, folder);
}

async function captureWithoutServer(capture: Capture, folder: string): Promise<void> {
  const broken = join(folder, "Modelfile");
  writeFileSync(broken, "FROM tiny\nWHAT is this\n");
  writeFileSync(join(folder, "broken.gguf"), "GGUF but no more");
  for (const words of [
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
    await capture.run(words);
  }
}

async function captureWithServers(capture: Capture): Promise<void> {
  await using empty = await startTestServer({ models: {}, isOffline: true });
  const nothing = { HEARTH_HOST: empty.url };
  for (const words of [
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
    await capture.run(words, nothing);
  }
  const failure = { kind: "engine-died", exitCode: null, signal: "SIGSEGV" } as const;
  await using dying = await startTestServer({ models: { tiny }, script: () => [{ do: "die", failure }] });
  const host = { HEARTH_HOST: dying.url };
  await capture.run(["run", "tiny", "hello"], host);
  await capture.run(["run", "tiny", "hello", "--think=much"], host);
  await capture.run(["run", "tiny", "hello", "--image", "picture.png"], host);
  await capture.run(["run", "tiny", "hello", "--format", "no-such-file"], host);
  await capture.run(["bench", "tiny", "--clients", "none"], host);
  await capture.run(["list"], host);
  await capture.run(["pull", "bad name!"], host);
  await using narrow = await startTestServer({ models: { tiny }, limits: { memoryBudgetBytes: 1 } });
  await capture.run(["run", "tiny", "hello"], { HEARTH_HOST: narrow.url });
  const key = { name: "one", sha256: Buffer.alloc(32) };
  await using locked = await startTestServer({ models: {}, access: { keys: [key] } });
  await capture.run(["list"], { HEARTH_HOST: locked.url });
  await capture.run(["list"], { HEARTH_HOST: locked.url, HEARTH_API_KEY: "wrong" });
}

/** A port that another server has. */
async function captureTakenPort(capture: Capture, folder: string): Promise<void> {
  const port = String(await findFreePort());
  const models = join(folder, "other-models");
  await using stack = new AsyncDisposableStack();
  stack.use(
    await startProcess({
      command: process.execPath,
      arguments: [program, "serve", "--port", port, "--models", models],
      environment: { HOME: folder },
      isReady: (output) => output.includes("listens on"),
    }),
  );
  await capture.run(["serve", "--port", port, "--models", models]);
}

test("every command's help, error and empty state is plain text of some width that says what to do", {
  timeout: 180_000,
}, async () => {
  await using folder = await makeTemporaryFolder("every-word");
  const home = { HOME: folder.path, HEARTH_PORT: String(await findFreePort()), HEARTH_THREADS: "1" };
  const capture = new Capture({ ...home, COLUMNS: String(widestColumns) });
  await captureAll(capture, folder.path);
  await captureWithServers(capture);
  await captureTakenPort(capture, folder.path);
  keep(capture, folder.path);
  const machine = [root, homedir(), tmpdir()].filter((place) => place !== "/");
  for (const { title, ended } of capture.texts) {
    const text = ended.output + ended.errors;
    expect(text.trim(), title).not.toBe("");
    expect(text, title).not.toMatch(/\n {4}at .*:\d+:\d+|\bE[A-Z]{4,}\b|\bundefined\b|\[object/u);
    const shown = machine.filter((place) => text.replaceAll(folder.path, "").includes(place));
    expect(shown, title).toEqual([]);
    expect(widestOf(ended.output), `${title}: ${ended.output}`).toBeLessThanOrEqual(widestColumns);
    // A script gets a sentence on one line; a terminal breaks it between words.
    expect(widestOf(ended.errors.replaceAll(folder.path, "")), title).toBeLessThanOrEqual(widestSentence);
    const isTold = ended.code === 0 || ended.errors.trim() !== "";
    expect(isTold, title).toBe(true);
  }
  expect(capture.texts.length).toBeGreaterThanOrEqual(neededTexts);
  recordFigure({
    claim: "people 3",
    text: `${capture.texts.length} of at least ${neededTexts} helps, errors and empty states read; all of them in build/people/every-word.txt`,
    counted: { reached: capture.texts.length, needed: neededTexts },
  });
});

function widestOf(text: string): number {
  return Math.max(...text.split("\n").map((line) => line.length));
}

function keep({ texts }: Capture, folder: string): void {
  const place = join(root, "build/people");
  mkdirSync(place, { recursive: true });
  const whole = texts.map(
    ({ title, ended }) => `$ ${title}\n${ended.output}${ended.errors}(exit code ${ended.code})\n`,
  );
  writeFileSync(join(place, "every-word.txt"), whole.join("\n").replaceAll(folder, "…"));
}
