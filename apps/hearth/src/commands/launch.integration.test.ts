import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { programs } from "@hearth-and-keep/hearth-contract";
import { makeTemporaryFolder, seededEnvironment } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessKey } from "../access/keys.ts";
import { smol, startTestServer, type TestServer, tiny } from "../test/start-test-server.ts";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));
const key = "canary-launch-key";
/** Appends what it was started with to a file, and exits with a code of its own. */
const fakeProgram = '#!/bin/sh\n{ env; printf "arg %s\\n" "$@"; } > "$HOME/started"\nexit 7\n';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({
    models: { "local-model": tiny, chatty: smol },
    script: () => [],
    access: { keys: [accessKey("agent", key)] },
  });
});

afterAll(() => server[Symbol.asyncDispose]());

type LaunchResult = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
};

type Home = AsyncDisposable & {
  readonly path: string;
  launch(...args: readonly string[]): Promise<LaunchResult>;
  /** What the fake program was started with. */
  started(): Promise<string>;
};

/** A home folder with a fake executable for every program. */
async function openHome(executables = programs.map((each) => each.executables[0])): Promise<Home> {
  const folder = await makeTemporaryFolder("launch");
  const bin = join(folder.path, "bin");
  await mkdir(bin);
  for (const name of executables) {
    await writeFile(join(bin, name), fakeProgram);
    await chmod(join(bin, name), 0o755);
  }
  const env = {
    ...seededEnvironment,
    // Shared by all commands of this file, and outside of the home folder.
    NODE_COMPILE_CACHE: fileURLToPath(new URL("../../../../node_modules/.cache/compiled", import.meta.url)),
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: folder.path,
    HEARTH_HOST: server.url,
    HEARTH_API_KEY: key,
  };
  return {
    path: folder.path,
    async launch(...args) {
      const child = spawn(process.execPath, [program, "launch", ...args], {
        env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
      }
      // Node documents the arguments of "close" as the exit code and the signal.
      const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
      return { code, signal, output };
    },
    started: () => readFile(join(folder.path, "started"), "utf8"),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Every file below a folder with its content, except the fake programs and what they record. */
async function readTree(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .filter((path) => path !== "started" && !path.startsWith("bin/"));
  return Object.fromEntries(
    await Promise.all(
      paths.toSorted().map(async (path) => [path, await readFile(join(folder, path), "utf8")]),
    ),
  );
}

const existingSettings: Readonly<Record<string, string>> = {
  ".config/zed/settings.json":
    '// Mine\n{\n\t"theme": "Ayu", // nice\n\t"agent": { "default_model": null },\n}\n',
  ".config/crush/crush.json": '{"providers": {"other": {"api_key": "$OTHER"}}}',
  ".cline/data/settings/providers.json": '{\n  "version": 1,\n  "providers": {}\n}\n',
};

test.each(programs.map(({ name }) => name))(
  "launching %s passes the server, the model and the key, and removing leaves every file as it was",
  async (name) => {
    await using home = await openHome();
    for (const [path, text] of Object.entries(existingSettings)) {
      await mkdir(dirname(join(home.path, path)), { recursive: true });
      await writeFile(join(home.path, path), text);
    }
    const before = await readTree(home.path);
    expect(await home.launch(name, "--", "--flag", "two words")).toMatchObject({ code: 7 });
    const started = await home.started();
    expect(started).toMatch(/arg --flag\narg two words\n$/u);
    expect(started).toContain(key);
    const after = await readTree(home.path);
    // Programs without files get everything from the environment.
    const passed = started + Object.values(after).join("\n");
    expect(passed).toContain(server.url);
    expect(passed).toContain("local-model");
    expect(Object.values(after).join("\n")).not.toContain(key);
    // Programs that take everything from the environment leave nothing to remove.
    const removal =
      Object.keys(after).length > Object.keys(before).length
        ? await home.launch(name, "--remove")
        : undefined;
    expect([removal?.code ?? 0, await readTree(home.path)], removal?.output ?? "").toEqual([0, before]);
  },
);

test("settings that were changed after a launch lose only Hearth's entries", async () => {
  await using home = await openHome();
  const path = join(home.path, ".config/zed/settings.json");
  // Kept in a repository, as many users do.
  const linked = join(home.path, "dotfiles.json");
  await mkdir(dirname(path), { recursive: true });
  await writeFile(linked, existingSettings[".config/zed/settings.json"] ?? "");
  await symlink(linked, path);
  await home.launch("zed");
  const written = await readFile(linked, "utf8");
  expect(written).toContain("// Mine\n");
  expect(written).toContain('"Hearth": {');
  await writeFile(linked, written.replace('"Ayu"', '"Gruvbox"'));
  expect((await home.launch("zed", "--model", "local-model:latest")).code).toBe(7);
  expect(await home.launch("zed", "--remove")).toMatchObject({ code: 0 });
  expect(await readFile(linked, "utf8")).toBe(
    existingSettings[".config/zed/settings.json"]?.replace('"Ayu"', '"Gruvbox"'),
  );
});

test("printing shows settings and the command without the key, and writes nothing", async () => {
  await using home = await openHome([]);
  const claude = await home.launch("claude", "--print", "--", "-p", "it's me");
  expect(claude.code).toBe(0);
  expect(claude.output).toContain(`export ANTHROPIC_BASE_URL=${server.url}/alt\n`);
  expect(claude.output).toContain('export ANTHROPIC_AUTH_TOKEN="$HEARTH_API_KEY"\n');
  expect(claude.output).toContain(`claude -p 'it'\\''s me'\n`);
  const codex = await home.launch("codex", "--print");
  expect(codex.output).toContain("# ~/.codex/hearth.config.toml\n");
  expect(codex.output).toContain('model = "local-model:latest"\n');
  expect(codex.output).toContain('# ~/.codex/hearth.models.json\n{\n  "models": [');
  expect(codex.output).toContain('"slug": "local-model:latest"');
  expect(codex.output).toMatch(/^codex --profile hearth$/mu);
  expect(claude.output + codex.output).not.toContain(key);
  expect(await readTree(home.path)).toEqual({});
});

test.each([
  [["claude", "--model", "chatty"], 'Model "chatty" cannot call tools, which Claude Code needs'],
  [["claude", "--model", "nowhere"], 'Model "nowhere" not found'],
  [["emacs"], 'Unknown program "emacs": use one of claude, codex'],
  [
    ["codex"],
    'Codex is not installed: there is no "codex" in PATH\nNext: run "npm install -g @openai/codex"',
  ],
])("hearth launch %s explains why it does not start", async (args, message) => {
  await using home = await openHome([]);
  const { code, output } = await home.launch(...args);
  expect(code).not.toBe(0);
  expect(output).toContain(message);
  expect(await readTree(home.path)).toEqual({});
});

test("a model that cannot call tools is used only with --force, and a short context is a warning", async () => {
  await using home = await openHome();
  const { code, output } = await home.launch("goose", "--model", "chatty", "--force");
  expect(code).toBe(7);
  expect(await home.started()).toContain("GOOSE_MODEL=chatty\n");
  expect(output).toMatch(
    /chatty has a context of \d+ tokens here, and agents need 32768: .*--context-length of the server/u,
  );
});

test("a program that is ended by a signal ends hearth by the same signal", async () => {
  await using home = await openHome();
  await writeFile(join(home.path, "bin/aider"), "#!/bin/sh\nkill -TERM $$\n");
  expect(await home.launch("aider")).toMatchObject({ code: null, signal: "SIGTERM" });
});

test("a settings file that is not JSON is left alone, and the error says so", async () => {
  await using home = await openHome();
  const path = join(home.path, ".config/crush/crush.json");
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '{"providers": ');
  const { code, output } = await home.launch("crush");
  expect([code, output]).toEqual([
    2,
    expect.stringContaining("~/.config/crush/crush.json: it is not valid JSON"),
  ]);
  expect(await readTree(home.path)).toEqual({ ".config/crush/crush.json": '{"providers": ' });
});
