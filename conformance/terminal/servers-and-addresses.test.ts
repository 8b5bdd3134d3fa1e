import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import {
  endProgramsOf,
  findFreePort,
  makeTemporaryFolder,
  startModelRegistry,
  testModel,
} from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { fillRegistry } from "../transfers/fill-registry.ts";
import { runHearth } from "./run-hearth.ts";
import { openTerminal, program } from "./terminal-window.ts";

type Home = AsyncDisposable & {
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** A person's own folder with a model that answers shortly; servers that are left behind end with it. */
async function openHome(): Promise<Home> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await makeTemporaryFolder("home"));
  stack.defer(() => endProgramsOf(path));
  const environment = { HOME: path, HEARTH_PORT: String(await findFreePort()), HEARTH_THREADS: "1" };
  await writeFile(
    join(path, "Modelfile"),
    `FROM ${await testModel("tiny-llama.gguf")}\nPARAMETER num_predict 2\n`,
  );
  const made = await runHearth(["create", "tiny"], { environment, folder: path });
  expect(made, "a Modelfile in the folder is used").toEqual({
    code: 0,
    output: "Created tiny:latest\n",
    errors: "",
  });
  const kept = stack.move();
  return { path, environment, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Takes connections and says nothing. */
async function listenMutely(): Promise<AsyncDisposable & { readonly port: number }> {
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

test("two runs at once start one server, one of them says so, and stop --server ends it", {
  timeout: 90_000,
}, async () => {
  await using home = await openHome();
  const { environment } = home;
  const ended = await Promise.all(
    ["a", "b"].map((text) => runHearth(["run", "tiny", text], { environment })),
  );
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  const errors = ended.map((each) => each.errors);
  expect(errors.filter((each) => each.includes("Started a server at"))).toHaveLength(1);
  expect((await runHearth(["ps"], { environment })).code).toBe(0);
  expect((await runHearth(["stop", "--server"], { environment })).output).toMatch(
    /^The server at \S+ has ended\n$/u,
  );
  expect((await runHearth(["ps"], { environment })).code).toBe(3);
});

test("stop --server ends the server at the address that is asked for, and no other program", {
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
    `One runs at http://127.0.0.1:${first["HEARTH_PORT"]}: hearth stop --server --host`,
  );
  // As if its process had ended and its number were another program's now.
  const bystander = spawn("sleep", ["60"]);
  const note = join(home.path, `.hearth/servers/127.0.0.1-${second.HEARTH_PORT}.json`);
  const written = await readFile(note, "utf8");
  await writeFile(note, written.replace(/"pid":\d+/u, `"pid":${bystander.pid}`));
  const missed = await runHearth(["stop", "--server"], { environment: second });
  expect(missed.output).toContain("started no server");
  expect(bystander.kill(0)).toBe(true);
  bystander.kill();
  await writeFile(note, written);
  expect((await runHearth(["stop", "--server"], { environment: first })).output).toContain("has ended");
  expect((await runHearth(["ps"], { environment: first })).code).toBe(3);
  expect((await runHearth(["ps"], { environment: second })).code).toBe(0);
  expect((await runHearth(["stop", "--server"], { environment: second })).output).toContain("has ended");
});

test("a place that cannot be written is told by the name it was given, with what to do", {
  timeout: 120_000,
}, async () => {
  await using home = await openHome();
  const file = join(home.path, "Modelfile");
  const below = join(file, "below");
  for (const [words, sentence, more] of [
    [["serve", "--models", below], `Cannot keep models in "${below}": it is a file, or lies below one`],
    [["create", "t", "--models", below, "-f", file], `Cannot keep models in "${below}"`],
    [["prune", "--models", below], `Cannot keep models in "${below}"`],
    [["serve", "--log-file", below], `Cannot write the log to "${below}"`],
    [
      ["serve", "--log-file", home.path],
      `Cannot write the log to "${home.path}": it is a folder, not a file`,
    ],
    [["run", "tiny", "q"], "Cannot keep the server's log in ~/.hearth/logs", { HOME: below }],
    [["run", "tiny", "q"], `Cannot keep models in "${below}"`, { HEARTH_MODELS: below }],
  ] as const) {
    const { code, errors } = await runHearth(words, { environment: { ...home.environment, ...more } });
    expect(errors, words.join(" ")).toContain(sentence);
    expect(errors, words.join(" ")).toMatch(/\nNext: [^\n]+\n$/u);
    expect(errors).not.toMatch(/\n {4}at |\bE[A-Z]{4,}\b/u);
    expect(code, words.join(" ")).toBe(2);
  }
});

test("a port that somebody has is not called free, and a start there tells this start's reason alone", {
  timeout: 120_000,
}, async () => {
  await using home = await openHome();
  await using taken = await listenMutely();
  const environment = { ...home.environment, HEARTH_PORT: String(taken.port) };
  await mkdir(join(home.path, ".hearth/logs"));
  await writeFile(join(home.path, ".hearth/logs/server.log"), "Cannot do what was wanted long ago\n");
  const examined = await runHearth(["doctor"], { environment });
  expect(examined.output).toContain(`Port ${taken.port} is in use`);
  const free = await runHearth(["doctor"], { environment: home.environment });
  expect(free.output).toContain(`port ${home.environment["HEARTH_PORT"]} is free for one`);
  const { code, errors } = await runHearth(["run", "tiny", "x"], { environment });
  expect(errors).toMatch(
    /^Cannot start the server in the background\n {2}Cannot listen on 127\.0\.0\.1 port \d+: /u,
  );
  expect(errors).toContain("Next: end that program, or set HEARTH_PORT to another port");
  expect(errors).not.toContain("long ago");
  expect(code).toBe(3);
});

test("stop says what is so: in memory by name or by ID, not in memory, nowhere", async () => {
  await using server = await startTestServer({
    models: { tiny },
    script: () => [
      { do: "say", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const environment = { HEARTH_HOST: server.url };
  const words = async (...typed: readonly string[]): Promise<readonly [number | null, string]> => {
    const { code, output } = await runHearth(typed, { environment });
    return [code, output];
  };
  expect(await words("stop", "tiny")).toEqual([0, "tiny is not in memory, so there is nothing to stop\n"]);
  expect((await words("stop", "nowhere"))[0]).toBe(5);
  await words("copy", "tiny", "another");
  await words("run", "tiny", "a");
  expect(await words("stop", "tiny")).toEqual([0, expect.stringContaining("it has left memory")]);
  await words("run", "tiny", "a");
  const [, id = ""] = /^\S+ +([0-9a-f]{12}) /mu.exec((await words("ps"))[1]) ?? [];
  expect(await words("stop", id)).toEqual([0, expect.stringContaining("it has left memory")]);
});

test("an upload is neither resumed nor already here, and a file that is no model ends with 2 and what to do", async () => {
  await using folder = await makeTemporaryFolder("upload");
  await using server = await startTestServer({ models: {}, isOffline: true });
  const environment = { HEARTH_HOST: server.url, HOME: folder.path };
  const made = await runHearth(["create", "large", "--from", await testModel("tiny-llama.gguf")], {
    environment,
  });
  expect(made.output).toMatch(/^reading \S+\nuploading \S+: 3\.5 MB\nuploading \S+: done\n/u);
  const small = join(folder.path, "small.gguf");
  await writeFile(small, "GGUF but no more");
  const refused = await runHearth(["create", "small", "--from", small], { environment });
  expect(refused.output).not.toMatch(/resuming|already here/u);
  expect(refused.errors).toMatch(
    /^Cannot use the model file: .*\nNext: fetch the file again; only GGUF files can be used\n$/u,
  );
  expect(refused.code).toBe(2);
});

test("models that share their files are counted once", async () => {
  await using home = await openHome();
  const { environment } = home;
  for (const name of ["one", "two", "three"]) {
    await runHearth(["create", name, "-f", "-"], { environment, input: `FROM tiny\nSYSTEM ${name}\n` });
  }
  const { output } = await runHearth(["doctor"], { environment });
  expect(output).toContain("It holds 4 models; its files take 3.5 MB");
});

test("Ctrl-C before anything came does not speak of bytes", async () => {
  await using mute = await listenMutely();
  await using server = await startTestServer({ models: {}, privateRegistries: ["127.0.0.1"] });
  const words = [program, "pull", `127.0.0.1:${mute.port}/team/model`, "--insecure"];
  const child = spawn(process.execPath, words, { env: { HEARTH_HOST: server.url } });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString("utf8")));
  await once(child.stdout, "data");
  child.kill("SIGINT");
  // An array of the exit code and the signal, by Node's documentation.
  const [code] = (await once(child, "close")) as [number | null];
  expect(errors).toMatch(
    /^Stopped before anything of the model was moved\nNext: hearth pull \S+ --insecure begins again\n$/u,
  );
  expect(code).toBe(130);
});

test("the progress of a pull that run needs is not in its answer", { timeout: 60_000 }, async () => {
  await using registry = await startModelRegistry();
  await fillRegistry(registry, { repository: "team/tiny", file: await testModel("tiny-llama.gguf") });
  await using server = await startTestServer({
    models: {},
    privateRegistries: ["127.0.0.1"],
    script: () => [
      { do: "say", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const environment = { HEARTH_HOST: server.url };
  const name = `${new URL(registry.url).host}/team/tiny`;
  const { output, errors } = await runHearth(["run", name, "hi", "--insecure"], { environment });
  expect(output).toBe("Hello\n");
  expect(errors).toContain("pulling manifest");
});

test("words that people bring along from Ollama are understood, or refused with the reason", async () => {
  await using home = await openHome();
  const { environment } = home;
  expect((await runHearth(["-v"], { environment })).output).toMatch(/^\d+\.\d+\.\d+/u);
  const wrong = await runHearth(["start", "--port", "many"], { environment });
  expect([wrong.code, wrong.errors]).toEqual([2, expect.stringContaining("--port must be a whole number")]);
  const quantized = await runHearth(["create", "m", "-q", "q4_0"], { environment, folder: home.path });
  expect(quantized.code).toBe(2);
  expect(quantized.errors).toMatch(/^Cannot convert weights to "q4_0": .*\nNext: .*llama-quantize/u);
  await using server = await startTestServer({ models: { tiny }, isOffline: true });
  const host = { environment: { HEARTH_HOST: server.url } };
  expect((await runHearth(["show", "tiny"], host)).output).not.toContain("tokenizer.ggml.tokens");
  const whole = (await runHearth(["show", "tiny", "-v"], host)).output;
  expect(whole).toMatch(/tokenizer\.ggml\.tokens .*\(\d+ in all\)/u);
  expect(whole).toMatch(/blk\.0\.attn_q\.weight +F16 +128 × 128/u);
});

test("a list is not broken in a narrow window", async () => {
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
