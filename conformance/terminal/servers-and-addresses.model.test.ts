import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import {
  findFreePort,
  makeTemporaryFolder,
  seededEnvironment,
  startModelRegistry,
  stopProgramsOf,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { seedRegistry } from "../transfers/seed-registry.ts";
import { runHearth } from "./run-hearth.ts";
import { openTerminal, program } from "./terminal-window.ts";

type Home = AsyncDisposable & {
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** A home folder with a model that gives short responses. Background servers are stopped when it is disposed. */
async function openHome(): Promise<Home> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await makeTemporaryFolder("home"));
  stack.defer(() => stopProgramsOf(path));
  const environment = { HOME: path, HEARTH_PORT: String(await findFreePort()), HEARTH_THREADS: "1" };
  await writeFile(
    join(path, "Modelfile"),
    `FROM ${await testModel("tiny-llama.gguf")}\nPARAMETER num_predict 2\n`,
  );
  const created = await runHearth(["create", "tiny"], { environment, folder: path });
  expect(created, "a Modelfile in the folder is used").toEqual({
    code: 0,
    output: "Created tiny:latest\n",
    errors: "",
  });
  const opened = stack.move();
  return { path, environment, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** A server that accepts connections and never responds. */
async function listenSilently(): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on TCP has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((settle) => server.close(settle));
    },
  };
}

test("two concurrent runs start one server, only one reports it, and stop --server stops it", {
  timeout: 90_000,
}, async () => {
  await using home = await openHome();
  const { environment } = home;
  const results = await Promise.all(
    ["a", "b"].map((text) => runHearth(["run", "tiny", text], { environment })),
  );
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  const errors = results.map((each) => each.errors);
  expect(errors.filter((each) => each.includes("Started a server at"))).toHaveLength(1);
  expect((await runHearth(["ps"], { environment })).code).toBe(0);
  expect((await runHearth(["stop", "--server"], { environment })).output).toMatch(
    /^Stopped the server at \S+\n$/u,
  );
  expect((await runHearth(["ps"], { environment })).code).toBe(3);
});

test("stop --server stops the server at the given address, and no other process", {
  timeout: 90_000,
}, async () => {
  await using home = await openHome();
  const first = home.environment;
  const second = { ...first, HEARTH_PORT: String(await findFreePort()) };
  for (const environment of [first, second]) {
    expect((await runHearth(["run", "tiny", "a"], { environment })).errors).toContain("Started a server");
  }
  const third = { ...first, HEARTH_PORT: String(await findFreePort()) };
  expect((await runHearth(["stop", "--server"], { environment: third })).output).toContain(
    `Running at http://127.0.0.1:${first["HEARTH_PORT"]}; stop it with "hearth stop --server --host`,
  );
  // As if the server had exited and another process had reused its PID.
  const bystander = spawn("sleep", ["60"]);
  const pidFile = join(home.path, `.hearth/servers/127.0.0.1-${second.HEARTH_PORT}.json`);
  const content = await readFile(pidFile, "utf8");
  await writeFile(pidFile, content.replace(/"pid":\d+/u, `"pid":${bystander.pid}`));
  const missed = await runHearth(["stop", "--server"], { environment: second });
  expect(missed.output).toContain("No background server at");
  expect(bystander.kill(0)).toBe(true);
  bystander.kill();
  await writeFile(pidFile, content);
  expect((await runHearth(["stop", "--server"], { environment: first })).output).toContain(
    "Stopped the server",
  );
  expect((await runHearth(["ps"], { environment: first })).code).toBe(3);
  expect((await runHearth(["ps"], { environment: second })).code).toBe(0);
  expect((await runHearth(["stop", "--server"], { environment: second })).output).toContain(
    "Stopped the server",
  );
});

test("a path that is not writable is reported as it was given, with advice", {
  timeout: 120_000,
}, async () => {
  await using home = await openHome();
  const file = join(home.path, "Modelfile");
  const below = join(file, "below");
  for (const [args, message, variables] of [
    [
      ["serve", "--models", below],
      `Cannot store models in "${below}": part of the path is a file, not a folder`,
    ],
    [["create", "t", "--models", below, "-f", file], `Cannot store models in "${below}"`],
    [["prune", "--models", below], `Cannot store models in "${below}"`],
    [["serve", "--log-file", below], `Cannot write the log to "${below}"`],
    [
      ["serve", "--log-file", home.path],
      `Cannot write the log to "${home.path}": it is a folder, not a file`,
    ],
    [["run", "tiny", "q"], "Cannot write the server's log in ~/.hearth/logs", { HOME: below }],
    [["run", "tiny", "q"], `Cannot store models in "${below}"`, { HEARTH_MODELS: below }],
  ] as const) {
    const { code, errors } = await runHearth(args, { environment: { ...home.environment, ...variables } });
    expect(errors, args.join(" ")).toContain(message);
    expect(errors, args.join(" ")).toMatch(/\nNext: [^\n]+\n$/u);
    expect(errors).not.toMatch(/\n {4}at |\bE[A-Z]{4,}\b/u);
    expect(code, args.join(" ")).toBe(2);
  }
});

test("doctor reports a port in use, and a failed start there reports only its own reason", {
  timeout: 120_000,
}, async () => {
  await using home = await openHome();
  await using occupied = await listenSilently();
  const environment = { ...home.environment, HEARTH_PORT: String(occupied.port) };
  await mkdir(join(home.path, ".hearth/logs"));
  await writeFile(join(home.path, ".hearth/logs/server.log"), "An error of an earlier start\n");
  const inUse = await runHearth(["doctor"], { environment });
  expect(inUse.output).toContain(`Port ${occupied.port} is in use`);
  const free = await runHearth(["doctor"], { environment: home.environment });
  expect(free.output).toContain(`port ${home.environment["HEARTH_PORT"]} is free`);
  const { code, errors } = await runHearth(["run", "tiny", "x"], { environment });
  expect(errors).toMatch(
    /^Cannot start the server in the background\n {2}Cannot listen on 127\.0\.0\.1 port \d+: /u,
  );
  expect(errors).toContain("Next: stop that program, or set HEARTH_PORT to another port");
  expect(errors).not.toContain("earlier start");
  expect(code).toBe(3);
});

test("stop unloads a model by name or ID, and reports one that is not loaded or does not exist", async () => {
  await using server = await startTestServer({
    models: { tiny },
    script: () => [
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const environment = { HEARTH_HOST: server.url };
  const run = async (...args: readonly string[]): Promise<readonly [number | null, string]> => {
    const { code, output } = await runHearth(args, { environment });
    return [code, output];
  };
  expect(await run("stop", "tiny")).toEqual([0, "tiny is not loaded\n"]);
  expect((await run("stop", "nowhere"))[0]).toBe(5);
  await run("copy", "tiny", "another");
  await run("run", "tiny", "a");
  expect(await run("stop", "tiny")).toEqual([0, expect.stringMatching(/^Unloaded /u)]);
  await run("run", "tiny", "a");
  const [, id = ""] = /^\S+ +([0-9a-f]{12}) /mu.exec((await run("ps"))[1]) ?? [];
  expect(await run("stop", id)).toEqual([0, expect.stringMatching(/^Unloaded /u)]);
});

test("an upload is not shown as resumed or present, and an invalid model file exits with 2 and advice", async () => {
  await using folder = await makeTemporaryFolder("upload");
  await using server = await startTestServer({ models: {}, isOffline: true });
  const environment = { HEARTH_HOST: server.url, HOME: folder.path };
  const created = await runHearth(["create", "large", "--from", await testModel("tiny-llama.gguf")], {
    environment,
  });
  expect(created.output).toMatch(/^reading \S+\nuploading \S+: 3\.5 MB\nuploading \S+: done\n/u);
  const small = join(folder.path, "small.gguf");
  await writeFile(small, "GGUF but no more");
  const rejected = await runHearth(["create", "small", "--from", small], { environment });
  expect(rejected.output).not.toMatch(/resuming|already present/u);
  expect(rejected.errors).toMatch(
    /^Cannot use the model file: .*\nNext: download the file again; only GGUF files are supported\n$/u,
  );
  expect(rejected.code).toBe(2);
});

test("doctor counts files that models share once", async () => {
  await using home = await openHome();
  const { environment } = home;
  for (const name of ["one", "two", "three"]) {
    await runHearth(["create", name, "-f", "-"], { environment, input: `FROM tiny\nSYSTEM ${name}\n` });
  }
  const { output } = await runHearth(["doctor"], { environment });
  expect(output).toContain("4 models, 3.5 MB of files");
});

test("Ctrl-C before the first byte of a pull reports no byte counts", async () => {
  await using silent = await listenSilently();
  await using server = await startTestServer({ models: {}, privateRegistries: ["127.0.0.1"] });
  const args = [program, "pull", `127.0.0.1:${silent.port}/team/model`, "--insecure"];
  const child = spawn(process.execPath, args, { env: { HEARTH_HOST: server.url, ...seededEnvironment } });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString("utf8")));
  await once(child.stdout, "data");
  child.kill("SIGINT");
  // Node documents the arguments of "close" as the exit code and the signal.
  const [code] = (await once(child, "close")) as [number | null];
  expect(errors).toMatch(
    /^Interrupted before any data was transferred\nNext: run "hearth pull \S+ --insecure" to start again\n$/u,
  );
  expect(code).toBe(130);
});

test("run does not write the progress of a pull to standard output", { timeout: 60_000 }, async () => {
  await using registry = await startModelRegistry();
  await seedRegistry(registry, { repository: "team/tiny", file: await testModel("tiny-llama.gguf") });
  await using server = await startTestServer({
    models: {},
    privateRegistries: ["127.0.0.1"],
    script: () => [
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const environment = { HEARTH_HOST: server.url };
  const name = `${new URL(registry.url).host}/team/tiny`;
  const { output, errors } = await runHearth(["run", name, "hi", "--insecure"], { environment });
  expect(output).toBe("Hello\n");
  expect(errors).toContain("pulling manifest");
});

test("commands and flags of Ollama work, or are rejected with a reason", async () => {
  await using home = await openHome();
  const { environment } = home;
  expect((await runHearth(["-v"], { environment })).output).toMatch(/^\d+\.\d+\.\d+/u);
  const wrong = await runHearth(["start", "--port", "many"], { environment });
  expect([wrong.code, wrong.errors]).toEqual([2, expect.stringContaining("--port must be an integer")]);
  const quantized = await runHearth(["create", "m", "-q", "q4_0"], { environment, folder: home.path });
  expect(quantized.code).toBe(2);
  expect(quantized.errors).toMatch(/^Cannot quantize to "q4_0": .*\nNext: .*llama-quantize/u);
  await using server = await startTestServer({ models: { tiny }, isOffline: true });
  const host = { environment: { HEARTH_HOST: server.url } };
  expect((await runHearth(["show", "tiny"], host)).output).not.toContain("tokenizer.ggml.tokens");
  const verbose = (await runHearth(["show", "tiny", "-v"], host)).output;
  expect(verbose).toMatch(/tokenizer\.ggml\.tokens .*\(\d+ items\)/u);
  expect(verbose).toMatch(/blk\.0\.attn_q\.weight +F16 +128 × 128/u);
});

test("a list does not wrap in a narrow window", async () => {
  await using server = await startTestServer({
    models: { "team/somewhat-long-name": tiny },
    isOffline: true,
  });
  await using window = await openTerminal({ environment: { HEARTH_HOST: server.url }, columns: 36 });
  window.type("hearth list; echo end");
  window.press("Enter");
  const lines = (await window.waitFor(/\nend\n/u)).split("\n");
  expect(lines.slice(1, 4)).toEqual([
    expect.stringMatching(/^NAME/u),
    expect.stringMatching(/^team\/somewhat-long-name:latest/u),
    "end",
  ]);
});
