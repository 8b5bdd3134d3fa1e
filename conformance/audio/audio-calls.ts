/**
 * @module
 * Audio through the complete program: sent as `input_audio` and to the transcription endpoint, by released clients too,
 * to a tiny model with an audio projector, which runs in llama.cpp's own server, the only process that decodes audio; and
 * hostile files of many kinds.
 * Nothing imports from here.
 */
import { preparePython } from "@hearth-and-keep/test-servers";
import { createLlamaServerDriver } from "@hearth-and-keep/upstream-engine";
import { makeFlac, makeMp3, makeWav, wavChunk } from "../../apps/hearth/src/audio/test/make-audio.ts";
import {
  startTestServer,
  type TestServer,
  tiny,
  tinyAudio,
  tinyVision,
} from "../../apps/hearth/src/test/start-test-server.ts";

export type SentAudio = { readonly bytes: Buffer; readonly format: string };

export const tone: SentAudio = { bytes: makeWav({ seconds: 1, frequency: 440 }), format: "wav" };

/** Hearth with a model that hears, one that only sees, and one of text, all in llama.cpp's own server. */
export async function startAudioServer(): Promise<TestServer> {
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({
    program: { kind: "xllamacpp", interpreter },
    onWarning: () => undefined,
  });
  return startTestServer({ models: { hearing: tinyAudio, seeing: tinyVision, deaf: tiny }, driver });
}

/** A chat in the format of OpenAI, which llama.cpp's own server accepts too. */
export function chatBody(audio: readonly SentAudio[], changes: object = {}): object {
  const parts = audio.map(({ bytes, format }) => ({
    type: "input_audio",
    input_audio: { data: bytes.toString("base64"), format },
  }));
  return {
    model: "hearing",
    messages: [{ role: "user", content: [...parts, { type: "text", text: "What do you hear?" }] }],
    reasoning_effort: "none",
    max_tokens: 4,
    temperature: 0,
    ...changes,
  };
}

export type ChatResponse = {
  readonly status: number;
  readonly ignored: string;
  readonly text: string;
  /** NaN without usage. */
  readonly promptTokens: number;
  readonly content: string;
};

export async function sendChat(url: string, body: object): Promise<ChatResponse> {
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  const contents = [...text.matchAll(/"(?:content|reasoning_content)":"(?<content>(?:[^"\\]|\\.)*)"/gu)];
  return {
    status: response.status,
    ignored: response.headers.get("hearth-ignored") ?? "",
    text,
    promptTokens: Number(/"prompt_tokens":(?<count>\d+)/u.exec(text)?.groups?.["count"] ?? Number.NaN),
    content: contents.map(({ groups }) => groups?.["content"] ?? "").join(""),
  };
}

export type SentForm = Readonly<Record<string, string | Buffer>>;

export async function sendForm(url: string, fields: SentForm): Promise<{ status: number; text: string }> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new Blob([new Uint8Array(value)]), "speech.wav");
  }
  const response = await fetch(`${url}/v1/audio/transcriptions`, { method: "POST", body: form });
  return { status: response.status, text: await response.text() };
}

const second = { seconds: 1, frequency: 440 };

function patchWav(offset: number, value: number): Buffer {
  const bytes = makeWav(second);
  bytes.writeUInt32LE(value, offset);
  return bytes;
}

/** Files whose headers promise more than is there, or that decoders would take for another format. */
export const hostileAudio: Readonly<Record<string, Buffer>> = {
  empty: Buffer.alloc(0),
  "a line of text": Buffer.from("This is not a sound"),
  "only the start of a WAV": makeWav(second).subarray(0, 20),
  "a WAV of 1 Hz": patchWav(24, 1),
  "a WAV of 4 GHz": patchWav(24, 0xff_ff_ff_ff),
  "a WAV with 65,535 channels": patchWav(22, 0xff_ff),
  "a WAV with compressed samples": patchWav(20, 0x00_01_00_02),
  "a WAV without sound": makeWav({ seconds: 0 }),
  "a WAV of thousands of chunks": makeWav({
    ...second,
    before: Array.from({ length: 9999 }, () => wavChunk("LIST", Buffer.alloc(0))),
  }),
  "a FLAC of 49 days": makeFlac({ ...second, declaredSamples: 2 ** 36 - 1 }),
  "a FLAC without a length": makeFlac({ ...second, declaredSamples: 0 }),
  "a FLAC with MP3 frames": Buffer.concat([makeFlac(second).subarray(0, 42), makeMp3({ frames: 99 })]),
  "a FLAC whose frames are damaged": makeFlac(second).fill(0xaa, 50),
  "an MP3 with a tag longer than the file": makeMp3({ frames: 0, tagBytes: 2 ** 20 }).subarray(0, 99),
  "an MP3 with frames of unknown length": Buffer.alloc(99_999, Buffer.from("fffb0000aaaaaaaa", "hex")),
  "an Ogg file": Buffer.from("OggS\0\u0002\0\0\0\0\0\0\0\0"),
};
