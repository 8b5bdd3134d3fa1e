import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  findFreePort,
  makeTemporaryFolder,
  type OwnedProcess,
  type Postgres,
  preparePython,
  startPostgres,
  startProcess,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { root } from "../run-to-end.ts";
import { environmentOfOlderNode } from "./older-node.ts";
import { isPromiseKept, type QuickStartStep, readQuickStart } from "./quick-start.ts";

const fewestSteps = 20;

type Surroundings = {
  readonly environment: Record<string, string>;
  /** What stands in the README and what it is here: the repository's address, and ports that may be taken. */
  readonly replacements: ReadonlyMap<string, string>;
  folder: string;
};

/** Runs one line as a person would type it; `cd` and `export` last, as they do in a terminal. */
function runCommand({ line, expected }: QuickStartStep & { kind: "command" }, here: Surroundings): void {
  const script = `set -e\n${line}\nprintf '\\0%s\\0' "$PWD"\nenv -0`;
  const [output = "", folder = "", ...variables] = execFileSync("bash", ["-c", script], {
    cwd: here.folder,
    env: here.environment,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 180_000,
  }).split("\0");
  here.folder = folder;
  for (const [name, ...value] of variables.map((variable) => variable.split("="))) {
    if (name !== undefined && /^(HEARTH|KEEP)_/.test(name)) here.environment[name] = value.join("=");
  }
  for (const promise of expected) {
    expect(isPromiseKept(output, promise), `${line} promises ${promise} and gave ${output}`).toBe(true);
  }
}

function startServer(
  { line }: QuickStartStep & { kind: "server" },
  here: Surroundings,
): Promise<OwnedProcess> {
  return startProcess({
    command: "bash",
    arguments: ["-c", `exec ${line}`],
    environment: here.environment,
    folder: here.folder,
    isReady: (output) => output.includes("listens on"),
    stopsDescendants: true,
  });
}

/** A machine of somebody who has Node 20, Python with a virtual environment, PostgreSQL and a model file. */
async function prepareSurroundings(folder: string, postgres: Postgres): Promise<Surroundings> {
  const ports = { hearth: String(await findFreePort()), keep: String(await findFreePort()) };
  const { interpreter } = await preparePython();
  const { PATH = "", ...environment } = definedOnly(environmentOfOlderNode(folder));
  return {
    folder,
    environment: {
      ...environment,
      // Node 20 stays first.
      PATH: PATH.replace(delimiter, `${delimiter}${dirname(interpreter)}${delimiter}`),
      HEARTH_PORT: ports.hearth,
      HEARTH_MODELS: join(folder, "models"),
      HEARTH_THREADS: "1",
      KEEP_PORT: ports.keep,
      KEEP_METRICS_PORT: "0",
    },
    replacements: new Map([
      ["ADDRESS-OF-THIS-REPOSITORY", root],
      ["YOUR-MODEL.gguf", await testModel("smollm2-135m-instruct-q4_1.gguf")],
      ["11434", ports.hearth],
      ["8300", ports.keep],
      ["5432", String(postgres.port)],
      ["YOUR-PASSWORD", postgres.address.password],
    ]),
  };
}

test("the quick start works line by line from an empty folder, on a machine with Node 20", {
  timeout: 400_000,
}, async () => {
  await using folder = await makeTemporaryFolder("quick-start");
  await using postgres = await startPostgres();
  const here = await prepareSurroundings(folder.path, postgres);
  const steps = readQuickStart(adapt(readFileSync(join(root, "README.md"), "utf8"), here));
  expect(steps.length).toBeGreaterThanOrEqual(fewestSteps);
  await using servers = new AsyncDisposableStack();
  for (const step of steps) {
    if (step.kind === "server") servers.use(await startServer(step, here));
    else if (step.kind === "file") writeFileSync(join(here.folder, step.name), step.content);
    else runCommand(step, here);
  }
  for (const claim of ["ground 7", "families 16"]) {
    recordFigure({
      claim,
      text: `${steps.length} of ${steps.length} lines and programs of the quick start worked`,
      counted: { reached: steps.length, needed: fewestSteps },
    });
  }
});

function adapt(readme: string, { replacements }: Surroundings): string {
  let adapted = readme;
  for (const [written, here] of replacements) adapted = adapted.replaceAll(written, here);
  return adapted;
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
