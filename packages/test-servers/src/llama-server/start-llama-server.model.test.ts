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

// At every token of this answer the best choice leads by far, so another processor's rounding does not change it.
const question = "Name the capital of France.";

beforeAll(async () => {
  await preparePython();
  await testModel("tiny-llama.gguf");
}, 900_000);

test("SmolLM2 knows the capital of France", async () => {
  await using server = await startLlamaServer({ model: await testModel("smollm2-135m-instruct-q4_1.gguf") });
  const answer = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({
      messages: [{ role: "user", content: question }],
      temperature: 0,
      max_tokens: 16,
    }),
  });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("Paris");
});

test("the official openai client chats, streams and lists the model", async () => {
  await using server = await startLlamaServer({ model: await testModel("smollm2-135m-instruct-q4_1.gguf") });
  const script = fileURLToPath(new URL("fixtures/chat-with-openai.py", import.meta.url));
  const printed = JSON.parse(await runPython(script, [`${server.url}/v1`, server.model, question]));
  expect(printed).toMatchObject({
    models: ["smollm2-135m-instruct-q4_1"],
    text: expect.stringContaining("Paris"),
    streamed: printed.text,
    unknownPageRefused: true,
  });
  expect(printed.completionTokens).toBeLessThanOrEqual(16);
  expect(printed.pieces).toBeGreaterThan(3);
});

test("each of two slots has the whole context asked for", async () => {
  const model = await testModel("tiny-llama.gguf");
  await using server = await startLlamaServer({ model, contextTokens: 8192, parallelSlots: 2 });
  const slots = await (await fetch(`${server.url}/slots`)).json();
  expect(slots).toMatchObject([{ n_ctx: 8192 }, { n_ctx: 8192 }]);
});

test("a stopped server leaves no process and no open port, and prints no errors before", async () => {
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

test("a file that is no model fails the start with llama.cpp's reason", async () => {
  await using folder = await makeTemporaryFolder("llama-server");
  const model = join(folder.path, "broken.gguf");
  await writeFile(model, "this is no model");
  const started = performance.now();
  await expect(startLlamaServer({ model })).rejects.toThrow(/Cannot start .*failed to load model/s);
  expect(performance.now() - started).toBeLessThan(20_000);
});

test("a server whose starter is killed ends by itself", async () => {
  const script = fileURLToPath(new URL("fixtures/start-and-wait.ts", import.meta.url));
  await using starter = await startProcess({
    command: process.execPath,
    arguments: [script, await testModel("tiny-llama.gguf")],
    isReady: (output) => output.includes("server"),
  });
  const pid = Number(/server (\d+)/.exec(starter.output())?.[1]);
  expect(isRunning(pid)).toBe(true);
  process.kill(starter.pid, "SIGKILL");
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
