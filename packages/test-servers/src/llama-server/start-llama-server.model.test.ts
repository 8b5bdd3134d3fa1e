import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { testModel } from "../models/test-model.ts";
import { startProcess } from "../owned-process.ts";
import { preparePython } from "../python/prepare-python.ts";
import { runPython } from "../python/run-python.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { startLlamaServer } from "./start-llama-server.ts";

// Every token of the response wins by a wide margin, so another CPU's rounding does not change it.
const prompt = "Name the capital of France.";

beforeAll(async () => {
  await preparePython();
  await testModel("tiny-llama.gguf");
}, 900_000);

test("SmolLM2 answers with the capital of France", async () => {
  await using server = await startLlamaServer({ model: await testModel("smollm2-135m-instruct-q4_1.gguf") });
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({
      messages: [{ role: "user", content: prompt }],
      temperature: 0,
      max_tokens: 16,
    }),
  });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain("Paris");
});

test("the official openai client chats, streams and lists the model", async () => {
  await using server = await startLlamaServer({ model: await testModel("smollm2-135m-instruct-q4_1.gguf") });
  const script = fileURLToPath(new URL("fixtures/chat-with-openai.py", import.meta.url));
  const output = JSON.parse(await runPython(script, [`${server.url}/v1`, server.model, prompt]));
  expect(output).toMatchObject({
    models: ["smollm2-135m-instruct-q4_1"],
    text: expect.stringContaining("Paris"),
    streamed: output.text,
    unknownPathRejected: true,
  });
  expect(output.completionTokens).toBeLessThanOrEqual(16);
  expect(output.chunks).toBeGreaterThan(3);
});

test("each of two slots has the full requested context", async () => {
  const model = await testModel("tiny-llama.gguf");
  await using server = await startLlamaServer({ model, contextTokens: 8192, parallelSlots: 2 });
  const slots = await (await fetch(`${server.url}/slots`)).json();
  expect(slots).toMatchObject([{ n_ctx: 8192 }, { n_ctx: 8192 }]);
});

test("a given program gets the settings of the plan", async () => {
  const plan = { model: "/models/small.gguf", parallelSlots: 2, contextTokens: 512, threads: 3 };
  const start = startLlamaServer({ program: "/somewhere/llama-server", within: ["/bin/echo"], ...plan });
  const args =
    /setpriv --pdeathsig TERM \S+ --model \/models\/small\.gguf --alias small .*--port 0 --parallel 2 --ctx-size 1024 --threads 3 /u;
  await expect(start).rejects.toThrow(args);
});

test("a stopped server leaves no process and no open port, and prints no errors", async () => {
  const server = await startLlamaServer({ model: await testModel("tiny-llama.gguf") });
  const { pid } = server.process;
  expect(isRunning(pid)).toBe(true);
  expect(await isListening(server.url)).toBe(true);
  await server[Symbol.asyncDispose]();
  expect(isRunning(pid)).toBe(false);
  expect(await isListening(server.url)).toBe(false);
  expect(server.process.output()).toBe(`listening on ${server.url}\n`);
  expect(await server.process.exited).toBe(0);
});

test("a file that is not a model fails the start with llama.cpp's error", async () => {
  await using folder = await makeTemporaryFolder("llama-server");
  const model = join(folder.path, "broken.gguf");
  await writeFile(model, "this is not a model");
  const started = performance.now();
  await expect(startLlamaServer({ model })).rejects.toThrow(/Cannot start .*failed to load model/s);
  expect(performance.now() - started).toBeLessThan(20_000);
});

test("a server exits when the process that started it is killed", async () => {
  const script = fileURLToPath(new URL("fixtures/start-and-wait.ts", import.meta.url));
  await using parent = await startProcess({
    command: process.execPath,
    arguments: [script, await testModel("tiny-llama.gguf")],
    isReady: (output) => output.includes("server"),
  });
  const pid = Number(/server (\d+)/.exec(parent.output())?.[1]);
  expect(isRunning(pid)).toBe(true);
  process.kill(parent.pid, "SIGKILL");
  await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function isListening(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
