import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeTemporaryFolder, runPython } from "@hearth-and-keep/test-servers";
import OpenAI, { BadRequestError, NotFoundError, toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { sendForm, startAudioServer, tone } from "./audio-calls.ts";

const stack = new AsyncDisposableStack();
let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  server = stack.use(await startAudioServer());
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
}, 300_000);
afterAll(() => stack.disposeAsync());

const speech = () => toFile(tone.bytes, "speech.wav");
/** Rounding changes the words of random weights after a while, as a prompt is cached or not. */
const startOf = (text: string): string => text.slice(0, 24);
const valid = { model: "hearing", file: tone.bytes };

test("npm openai transcribes as JSON, as text and as a stream, with the same words", async () => {
  const file = await speech();
  const json = await client.audio.transcriptions.create({ model: "hearing", file });
  expect(json.text).not.toBe("");
  expect(json.usage).toMatchObject({ type: "tokens", input_tokens: expect.any(Number) });
  const text = await client.audio.transcriptions.create({ model: "hearing", file, response_format: "text" });
  expect([startOf(text), text.endsWith("\n")]).toEqual([startOf(json.text), true]);
  const stream = await client.audio.transcriptions.create({ model: "hearing", file, stream: true });
  const deltas: string[] = [];
  let done = "";
  for await (const event of stream) {
    if (event.type === "transcript.text.delta") deltas.push(event.delta);
    if (event.type === "transcript.text.done") done = event.text;
  }
  expect(deltas.length).toBeGreaterThan(1);
  expect(deltas.join("")).toBe(done);
  expect(startOf(done)).toBe(startOf(json.text));
});

test("npm openai chats with input_audio", async () => {
  const { choices } = await client.chat.completions.create({
    model: "hearing",
    max_tokens: 4,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is said?" },
          { type: "input_audio", input_audio: { data: tone.bytes.toString("base64"), format: "wav" } },
        ],
      },
    ],
  });
  expect(choices[0]?.finish_reason).toBe("length");
});

test("npm openai throws its own errors for a model that does not hear, and for translations", async () => {
  const file = await speech();
  const deaf = await client.audio.transcriptions
    .create({ model: "deaf", file })
    .catch((error: unknown) => error);
  expect(deaf).toBeInstanceOf(BadRequestError);
  expect(deaf).toMatchObject({ code: "unsupported_capability", message: expect.stringContaining('"deaf"') });
  const unknown = await client.audio.transcriptions
    .create({ model: "x", file })
    .catch((error: unknown) => error);
  expect(unknown).toBeInstanceOf(NotFoundError);
  const translated = await client.audio.translations
    .create({ model: "hearing", file })
    .catch((error: unknown) => error);
  expect(translated).toBeInstanceOf(NotFoundError);
});

test("PyPI openai transcribes, sync and async, complete and as a stream, and chats with audio", async () => {
  await using folder = await makeTemporaryFolder("speech");
  const path = join(folder.path, "speech.wav");
  await writeFile(path, tone.bytes);
  const script = fileURLToPath(new URL("transcribe.py", import.meta.url));
  const printed = await runPython(script, [`${server.url}/v1`, path], {
    timeoutSeconds: 120,
    environment: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  expect(JSON.parse(printed)).toEqual({
    said: true,
    alike: [true, true, true],
    chat: "length",
    deaf: ["BadRequestError", "unsupported_capability"],
    format: ["BadRequestError", "response_format"],
  });
});

async function tokensOf(changes: Readonly<Record<string, string>>): Promise<number> {
  const { status, text } = await sendForm(server.url, { ...valid, ...changes });
  expect(status, text).toBe(200);
  return JSON.parse(text).usage.input_tokens;
}

test("the language and the prompt are part of what the model reads", async () => {
  const plain = await tokensOf({});
  expect(await tokensOf({ language: "en" })).toBeGreaterThan(plain);
  expect(await tokensOf({ prompt: "They speak about Kubernetes." })).toBeGreaterThan(plain);
});

test("a form with an invalid field is rejected with its name", async () => {
  const forms = [
    ["no model", { file: tone.bytes }, "model"],
    ["an empty model", { ...valid, model: "" }, "model"],
    ["no file", { model: "hearing" }, "file"],
    ["a file as text", { model: "hearing", file: "speech.wav" }, "file"],
    ["another file", { ...valid, other: tone.bytes }, "other"],
    ["timestamps", { ...valid, "timestamp_granularities[]": "word" }, "timestamp_granularities"],
    ["verbose_json", { ...valid, response_format: "verbose_json" }, "response_format"],
    ["srt", { ...valid, response_format: "srt" }, "response_format"],
    ["a format that does not exist", { ...valid, response_format: "xml" }, "response_format"],
    ["a temperature in words", { ...valid, temperature: "warm" }, "temperature"],
    ["a temperature of 3", { ...valid, temperature: "3" }, "temperature"],
    ["a stream of maybe", { ...valid, stream: "maybe" }, "stream"],
    ["a very long prompt", { ...valid, prompt: "a".repeat(99_999) }, "prompt"],
  ] as const;
  for (const [name, form, field] of forms) {
    const { status, text } = await sendForm(server.url, form);
    expect([name, status, JSON.parse(text).error.param]).toEqual([name, 400, field]);
  }
  expect((await sendForm(server.url, valid)).status).toBe(200);
});

test("fields without an effect are named", async () => {
  const form = new FormData();
  form.append("model", "hearing");
  form.append("file", new Blob([new Uint8Array(tone.bytes)]), "speech.wav");
  form.append("chunking_strategy", "auto");
  form.append("include[]", "logprobs");
  const response = await fetch(`${server.url}/v1/audio/transcriptions`, { method: "POST", body: form });
  expect([response.status, response.headers.get("hearth-ignored")]).toEqual([
    200,
    'fields=("chunking_strategy" "include")',
  ]);
});

test("damaged forms get an error of this API, and none stops the server", async () => {
  const boundary = "a-boundary";
  const part = (head: string, content: Buffer | string): Buffer =>
    Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from("\r\n"),
    ]);
  const parts = [part('name="model"', "deaf"), part('name="file"; filename="a.wav"', tone.bytes)];
  const whole = Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
  const post = (body: Buffer): Promise<Response> =>
    fetch(`${server.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      body: new Uint8Array(body),
    });
  const cut = Array.from({ length: 40 }, (_, index) =>
    whole.subarray(0, Math.floor((whole.length * index) / 40)),
  );
  const changed = Array.from({ length: 200 }, (_, index) => {
    const copy = Buffer.from(whole);
    copy[index] = (copy[index] ?? 0) ^ 0x55;
    return copy;
  });
  const many = Buffer.concat([...Array.from({ length: 1000 }, () => part('name="prompt"', "a")), whole]);
  for (const body of [...cut, ...changed, many]) {
    const response = await post(body);
    const text = await response.text();
    expect([400, 404, 413], text).toContain(response.status);
    expect(JSON.parse(text)).toHaveProperty("error.message");
  }
  expect(await (await post(whole)).text()).toContain("does not support audio");
});

test("a body that is not a form is rejected", async () => {
  const response = await fetch(`${server.url}/v1/audio/transcriptions`, {
    method: "POST",
    body: JSON.stringify({ model: "hearing" }),
  });
  expect(response.status).toBe(400);
});
