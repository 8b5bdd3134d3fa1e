import { startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeFlac, makeMp3, makeWav } from "../../apps/hearth/src/audio/test/make-audio.ts";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import {
  type ChatResponse,
  chatBody,
  hostileAudio,
  type SentAudio,
  sendChat,
  sendForm,
  startAudioServer,
  tone,
} from "./audio-calls.ts";

const formats: readonly SentAudio[] = [
  tone,
  // It claims to be 31 hours long.
  { bytes: makeMp3({ frames: 50, declaredFrames: 0xff_ff_ff_fe, tagBytes: 100 }), format: "mp3" },
  { bytes: makeFlac({ seconds: 1, frequency: 440 }), format: "flac" },
];

const stack = new AsyncDisposableStack();
let server: TestServer;
/** Tokens that llama.cpp's own server counts for one sound and for two, without Hearth. */
let direct: { readonly one: number; readonly two: number };

beforeAll(async () => {
  server = stack.use(await startAudioServer());
  direct = await countDirectly();
}, 300_000);
afterAll(() => stack.disposeAsync());

async function countDirectly(): Promise<typeof direct> {
  const model = await testModel("tiny-llama.gguf");
  const projector = await testModel("tiny-audio-projector.gguf");
  await using llama = await startLlamaServer({ model, projector });
  const count = async (audio: readonly SentAudio[]): Promise<number> =>
    (await sendChat(llama.url, chatBody(audio, { max_tokens: 1 }))).promptTokens;
  const none = await count([]);
  return { one: (await count([tone])) - none, two: (await count([tone, tone])) - none };
}

test.each([false, true])(
  "a sound of each format reaches the model with the engine's token count, streamed: %s",
  async (stream) => {
    const options = stream ? { stream, stream_options: { include_usage: true } } : {};
    const none = (await sendChat(server.url, chatBody([], options))).promptTokens;
    for (const sound of formats) {
      const { status, promptTokens, text } = await sendChat(server.url, chatBody([sound], options));
      expect([sound.format, status, promptTokens - none], text).toEqual([sound.format, 200, direct.one]);
    }
    const both = await sendChat(server.url, chatBody([tone, tone], options));
    expect(both.promptTokens - none).toBe(direct.two);
    expect(direct).toEqual({ one: 50, two: 100 });
  },
);

test("a sound of more than thirty seconds has more tokens", async () => {
  const long = { bytes: makeWav({ seconds: 31, frequency: 440 }), format: "wav" };
  const [none, one] = [
    await sendChat(server.url, chatBody([])),
    await sendChat(server.url, chatBody([long])),
  ];
  expect(one.promptTokens - none.promptTokens).toBe(100);
});

async function responseTo(frequency: number): Promise<string> {
  const sound = { bytes: makeWav({ seconds: 20, frequency }), format: "wav" };
  return (await sendChat(server.url, chatBody([sound]))).content;
}

test("the content of a sound changes the output, and the same sound does not", async () => {
  const low = await responseTo(300);
  expect(low).not.toBe("");
  expect(await responseTo(300)).toBe(low);
  expect(await responseTo(3000)).not.toBe(low);
});

test("models that do not hear reject audio in words, and answer without", async () => {
  for (const model of ["deaf", "seeing"]) {
    const rejected = await sendChat(server.url, chatBody([tone], { model }));
    const words = `\\"${model}\\" does not support audio; use a model whose projector has an audio encoder`;
    expect([rejected.status, rejected.text]).toEqual([400, expect.stringContaining(words)]);
  }
  expect((await sendChat(server.url, chatBody([], { model: "deaf" }))).status).toBe(200);
});

test("a model with an audio projector lists audio and not vision, and rejects images", async () => {
  const show = async (model: string): Promise<readonly string[]> => {
    const response = await fetch(`${server.url}/api/show`, {
      method: "POST",
      body: JSON.stringify({ model }),
    });
    // The format of every model.
    return ((await response.json()) as { capabilities: string[] }).capabilities;
  };
  expect(await show("hearing")).toEqual(expect.arrayContaining(["completion", "audio"]));
  expect(await show("hearing")).not.toContain("vision");
  expect(await show("seeing")).not.toContain("audio");
  const url = "data:image/png;base64,AAAA";
  const messages = [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];
  expect((await sendChat(server.url, chatBody([], { messages }))).text).toContain("does not support vision");
});

const result = { type: "input_audio", input_audio: { data: tone.bytes.toString("base64"), format: "wav" } };
const toolCall = { id: "call_1", type: "function", function: { name: "record", arguments: "{}" } };

function sendResult(model: string, content: unknown): Promise<ChatResponse> {
  const messages = [
    { role: "user", content: "Listen" },
    { role: "assistant", tool_calls: [toolCall] },
    { role: "tool", tool_call_id: "call_1", content },
  ];
  return sendChat(server.url, chatBody([], { model, messages }));
}

test("audio in the result of a tool is played to a model that hears, and a sentence for others", async () => {
  const heard = await sendResult("hearing", [result]);
  expect(heard).toMatchObject({ status: 200, ignored: "" });
  expect(heard.promptTokens).toBeGreaterThan((await sendResult("hearing", "")).promptTokens + direct.one - 1);
  const replaced = await sendResult("deaf", [result]);
  expect(replaced).toMatchObject({ status: 200, ignored: 'blocks=("input_audio")' });
  expect(replaced.promptTokens).toBeLessThan(heard.promptTokens);
});

test("hostile files are rejected in words or decoded, within seconds, and the engine goes on", async () => {
  const before = await sendChat(server.url, chatBody([tone]));
  for (const [name, bytes] of Object.entries(hostileAudio)) {
    const startedAt = performance.now();
    const form = await sendForm(server.url, { model: "hearing", file: bytes });
    const chat = await sendChat(server.url, chatBody([{ bytes, format: "wav" }]));
    expect([name, form.status, chat.status], form.text + chat.text).toEqual([name, 400, 400]);
    expect(performance.now() - startedAt, name).toBeLessThan(10_000);
  }
  expect((await sendChat(server.url, chatBody([tone]))).content).toBe(before.content);
});
