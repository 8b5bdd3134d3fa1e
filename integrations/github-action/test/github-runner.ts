/**
 * @module
 * Runs the built action as the runner of GitHub Actions does: inputs and state in the environment, files for what later
 * steps get, and a log in which masked values are replaced.
 * Imported by the tests of this folder only.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { childEnvironment } from "@hearth-and-keep/test-servers";

export type StepResult = {
  readonly code: number | null;
  /** What the log shows: without commands, and with masked values replaced. */
  readonly log: string;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly masks: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly outputs: ReadonlyMap<string, string>;
  readonly state: ReadonlyMap<string, string>;
};

export type StepPlan = {
  /** The folder of the built action. */
  readonly action: string;
  readonly program: "main.mjs" | "post.mjs";
  readonly inputs: Readonly<Record<string, string>>;
  readonly state?: ReadonlyMap<string, string>;
  readonly identity: { readonly url: string; readonly requestToken: string };
};

export async function runStep({ action, program, inputs, state, identity }: StepPlan): Promise<StepResult> {
  const folder = await mkdtemp(join(action, "step-"));
  const files = { env: join(folder, "env"), outputs: join(folder, "outputs"), state: join(folder, "state") };
  for (const file of Object.values(files)) await writeFile(file, "");
  const environment = {
    ...childEnvironment(),
    GITHUB_ACTIONS: "true",
    GITHUB_ENV: files.env,
    GITHUB_OUTPUT: files.outputs,
    GITHUB_STATE: files.state,
    ACTIONS_ID_TOKEN_REQUEST_URL: identity.url,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: identity.requestToken,
    ...Object.fromEntries(
      Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
    ),
    ...Object.fromEntries([...(state ?? [])].map(([name, value]) => [`STATE_${name}`, value])),
  };
  const child = spawn(process.execPath, [join(action, program)], { env: environment });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  await once(child, "close");
  return {
    code: child.exitCode,
    ...readLog(output),
    env: parseFile(await readFile(files.env, "utf8")),
    outputs: parseFile(await readFile(files.outputs, "utf8")),
    state: parseFile(await readFile(files.state, "utf8")),
  };
}

/** Commands apply to the lines after them. */
function readLog(output: string): Pick<StepResult, "log" | "errors" | "warnings" | "masks"> {
  const found: Record<"add-mask" | "error" | "warning", string[]> = {
    "add-mask": [],
    error: [],
    warning: [],
  };
  const shown: string[] = [];
  for (const line of output.split(/\r\n|\r|\n/u)) {
    const { command, content = "" } =
      /^::(?<command>[a-z-]+)[^:]*::(?<content>.*)$/u.exec(line)?.groups ?? {};
    const text = content.replaceAll("%0A", "\n").replaceAll("%0D", "\r").replaceAll("%25", "%");
    if (command === "add-mask" || command === "error" || command === "warning") found[command].push(text);
    else if (command !== undefined) throw new Error(`The action wrote the command ${command}`);
    if (command !== "add-mask")
      shown.push(found["add-mask"].reduce((masked, mask) => masked.replaceAll(mask, "***"), line));
  }
  return { log: shown.join("\n"), masks: found["add-mask"], errors: found.error, warnings: found.warning };
}

/** The runner's grammar: `NAME=VALUE`, or `NAME<<DELIMITER`, lines, and the delimiter on a line of its own. */
function parseFile(text: string): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  let rest = text;
  const readLine = (): { readonly line: string; readonly newline: string } => {
    const { line = "", newline = "" } =
      /^(?<line>[^\r\n]*)(?<newline>\r\n|\r|\n|$)/u.exec(rest)?.groups ?? {};
    rest = rest.slice(line.length + newline.length);
    return { line, newline };
  };
  for (;;) {
    if (rest === "") return entries;
    const { line } = readLine();
    const { name, delimiter } = /^(?<name>[^=]*?)<<(?<delimiter>.+)$/u.exec(line)?.groups ?? {};
    if (name === undefined || delimiter === undefined) {
      const [key = "", ...value] = line.split("=");
      if (line !== "") entries.set(key, value.join("="));
      continue;
    }
    let value = "";
    let last = "";
    for (let next = readLine(); next.line !== delimiter; next = readLine()) {
      if (next.newline === "") throw new Error(`The entry ${name} has no end`);
      value += last + next.line;
      last = next.newline;
    }
    entries.set(name, value);
  }
}
