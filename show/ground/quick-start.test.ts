import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  findFreePort,
  makeTemporaryFolder,
  type OwnedProcess,
  startPostgres,
  startProcess,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { root } from "../run-to-end.ts";
import { environmentOfOlderNode } from "./older-node.ts";
import { type QuickStartStep, readQuickStart } from "./quick-start.ts";

const fewestSteps = 8;

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
  for (const text of expected) expect(output.trim().split("\n"), line).toContain(text);
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

test("the quick start works line by line from an empty folder, on a machine with Node 20", {
  timeout: 400_000,
}, async () => {
  await using folder = await makeTemporaryFolder("quick-start");
  await using postgres = await startPostgres();
  const ports = { hearth: String(await findFreePort()), keep: String(await findFreePort()) };
  const here: Surroundings = {
    folder: folder.path,
    environment: {
      ...definedOnly(environmentOfOlderNode(folder.path)),
      HEARTH_PORT: ports.hearth,
      KEEP_PORT: ports.keep,
    },
    replacements: new Map([
      ["ADDRESS-OF-THIS-REPOSITORY", root],
      ["11434", ports.hearth],
      ["8300", ports.keep],
      ["5432", String(postgres.port)],
      ["YOUR-PASSWORD", postgres.address.password],
    ]),
  };
  const steps = readQuickStart(readFileSync(join(root, "README.md"), "utf8")).map((step) =>
    adapt(step, here),
  );
  expect(steps.length).toBeGreaterThanOrEqual(fewestSteps);
  await using servers = new AsyncDisposableStack();
  for (const step of steps) {
    if (step.kind === "server") servers.use(await startServer(step, here));
    else runCommand(step, here);
  }
  recordFigure({
    claim: "ground 7",
    text: `${steps.length} of ${steps.length} lines of the quick start worked`,
    counted: { reached: steps.length, needed: fewestSteps },
  });
});

function adapt(step: QuickStartStep, { replacements }: Surroundings): QuickStartStep {
  let line = step.line;
  for (const [written, here] of replacements) line = line.replaceAll(written, here);
  return { ...step, line };
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
