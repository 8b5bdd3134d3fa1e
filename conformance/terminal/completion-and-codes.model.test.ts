import { execFile, execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  compileCacheEnvironment,
  findFreePort,
  makeTemporaryFolder,
  seededEnvironment,
  type TemporaryFolder,
  testModel,
} from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessKey } from "../../apps/hearth/src/access/keys.ts";
import { exitCodes } from "../../apps/hearth/src/terminal/exit-codes.ts";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { runHearth } from "./run-hearth.ts";
import { openTerminal, program } from "./terminal-window.ts";

const counted = { completions: 0, listings: 0, codes: 0 };
const needed = { completions: 15, listings: 7, codes: 8 };
let folder: TemporaryFolder;
let server: TestServer;
let environment: Record<string, string>;

beforeAll(async () => {
  folder = await makeTemporaryFolder("completion");
  server = await startTestServer({
    models: { tiny, "tiny:second": tiny },
    isOffline: true,
    script: () => [
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const bin = join(folder.path, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "hearth"), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  await chmod(join(bin, "hearth"), 0o755);
  environment = {
    PATH: [bin, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
    HOME: folder.path,
    HEARTH_HOST: server.url,
    LANG: "C.UTF-8",
    ...compileCacheEnvironment(),
    ...seededEnvironment,
  };
  for (const name of ["bash", "fish", "zsh"]) {
    const { output } = await runHearth(["completion", name], { environment });
    await writeFile(join(folder.path, `script.${name}`), output);
  }
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
  for (const [what, reached] of Object.entries(counted)) {
    const minimum = needed[what as keyof typeof needed]; // The keys of both are the same.
    recordFigure({
      claim: "people 9",
      text: `${reached} of ${minimum} ${what}`,
      counted: { reached, needed: minimum },
    });
  }
});

/** Returns the completions that a shell offers for a line; zsh is read as soon as the expected one is there. */
const shells: Readonly<
  Record<"bash" | "fish" | "zsh", (line: string, offered: string) => Promise<readonly string[]>>
> = {
  bash: (line) =>
    shell(
      "bash",
      `source script.bash
line=${quote(line)}; read -ra COMP_WORDS <<< "$line"; [[ "$line" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); COMP_LINE="$line"; COMP_POINT=\${#line}
_hearth; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  fish: (line) => shell("fish", `source script.fish; complete -C ${quote(line)}`),
  zsh: completeInZsh,
};

async function shell(name: string, script: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(name, ["-c", script], { env: environment, cwd: folder.path });
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

/** zsh completes only in an interactive terminal. */
async function completeInZsh(line: string, offered: string): Promise<readonly string[]> {
  await using window = await openTerminal({ environment: environment, columns: 120, rows: 40 });
  window.type("PS1='%# ' zsh -f");
  window.press("Enter");
  await window.waitFor(/[%#] ?$/u);
  window.type("autoload -Uz compinit; compinit -u; source ~/script.zsh; LISTMAX=0; clear");
  window.press("Enter");
  await window.waitFor(/^[%#] ?$/u);
  window.type(line);
  // The first Tab inserts the common prefix, the second lists the matches.
  window.press("Tab");
  window.press("Tab");
  const isOffered = (): boolean => window.read().split(/\s+/u).includes(offered);
  await expect.poll(isOffered, { timeout: 20_000 }).toBe(true);
  return window.read().split(/\s+/u);
}

function quote(text: string): string {
  return `'${text}'`;
}

test.for(["bash", "fish", "zsh"] as const)(
  "%s completes commands, flags and names of models",
  { timeout: 60_000 },
  async (name) => {
    const expected: readonly (readonly [line: string, offered: string])[] = [
      ["hearth pu", name === "zsh" ? "push" : "pull"],
      ["hearth ", "doctor"],
      ["hearth list --j", "--json"],
      ["hearth run ti", "tiny:second"],
      ["hearth completion f", "fish"],
    ];
    for (const [line, offered] of expected) {
      const offers = await shells[name](line, offered);
      expect(offers, line).toContain(offered);
      counted.completions += 1;
    }
    expect(await shells[name]("hearth list --j", "--json")).not.toContain("--verbose");
  },
);

test("bash completes the tag after a colon", async () => {
  expect(await shells.bash("hearth run tiny:se", "second")).toEqual(["second"]);
});

test("without a server, completion offers no names and prints no error", async () => {
  const result = await runHearth(["completion", "--models"], {
    environment: { ...environment, HEARTH_HOST: `127.0.0.1:${await findFreePort()}` },
  });
  expect(result).toEqual({ code: 0, output: "", errors: "" });
});

test.for([
  [["list"], "models"],
  [["ps"], "models"],
  [["show", "tiny"], "capabilities"],
  [["doctor"], "findings"],
  [["bench", "tiny", "--clients", "1,2", "--seconds", "5"], "throughput"],
  [["engine", "list"], "engines"],
  [["prune", "--dry-run"], "files"],
] as const)("%s --json is one JSON document", { timeout: 60_000 }, async ([args, key]) => {
  const result = await runHearth([...args, "--json"], { environment });
  expect(JSON.parse(result.output), result.errors).toHaveProperty(key);
  counted.listings += 1;
});

test("every exit code occurs as documented", async () => {
  const documented = await readFile(
    resolve(import.meta.dirname, "../../docs/hearth/command-line.md"),
    "utf8",
  );
  const key = accessKey("one", "another key");
  await using locked = await startTestServer({ models: {}, access: { keys: [key] } });
  const failure = { kind: "engine-crashed", exitCode: null, signal: "SIGSEGV" } as const;
  await using crashing = await startTestServer({
    models: { tiny },
    script: () => [{ do: "crash", failure }],
  });
  const seen = new Map<string, number | null>([
    ["success: 0", await codeOf(["list"])],
    ["damaged store: 1", await codeOfBrokenStore()],
    ["unknown command: 2", await codeOf(["lst"])],
    ["no server: 3", await codeOf(["list"], `127.0.0.1:${await findFreePort()}`)],
    ["no key: 4", await codeOf(["list"], locked.url)],
    ["unknown model: 5", await codeOf(["show", "nowhere"])],
    ["engine crash: 6", await codeOf(["run", "tiny", "hello"], crashing.url)],
    ["Ctrl-C: 130", await codeOfInterrupted()],
  ]);
  for (const [title, code] of seen) {
    const expected = Number(title.split(": ")[1]);
    expect(code, title).toBe(expected);
    expect(documented).toMatch(new RegExp(`^\\| ${expected} \\|`, "mu"));
  }
  expect(new Set(seen.values())).toEqual(new Set(Object.values(exitCodes)));
  counted.codes += seen.size;
});

async function codeOf(args: readonly string[], host = server.url): Promise<number | null> {
  return (await runHearth(args, { environment: { ...environment, HEARTH_HOST: host } })).code;
}

/** Interrupts a request to a server that does not respond. */
async function codeOfInterrupted(): Promise<number> {
  await using slow = await startTestServer({
    models: { tiny },
    script: () => [{ do: "wait", milliseconds: 60_000 }],
  });
  const child = execFile(process.execPath, [program, "run", "tiny", "hello"], {
    env: { ...environment, HEARTH_HOST: slow.url },
  });
  child.stdin?.end();
  const code = new Promise<number>((settle) => child.once("exit", (status) => settle(status ?? -1)));
  await expect.poll(() => slow.requests.length, { timeout: 10_000 }).toBe(1);
  child.kill("SIGINT");
  return await code;
}

async function codeOfBrokenStore(): Promise<number | null> {
  const store = join(folder.path, "damaged");
  execFileSync(
    process.execPath,
    [program, "create", "one", "--from", await testModel("tiny-llama.gguf"), "--models", store],
    { env: environment },
  );
  await writeFile(join(store, "manifests/registry.ollama.ai/library/one/latest"), "{}");
  return (await runHearth(["doctor", "--models", store], { environment })).code;
}
