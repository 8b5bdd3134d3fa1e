import { PreparationThread } from "@hearth-and-keep/chat-templates";
import type { AudioClip, Image } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { PrefillSpeed } from "./prefill-speed.ts";
import { createPrompts, type Prompt } from "./prompts.ts";

const image: Image = { bytes: new Uint8Array(1), mediaType: "image/png" };
const clip: AudioClip = { bytes: new Uint8Array(1), mediaType: "audio/wav", seconds: 1 };
const mediaMarker = "<__media_x__>";

type PromptOptions = {
  readonly images?: readonly Image[];
  readonly audio?: readonly AudioClip[];
  readonly marker?: string;
  /** Both by default. */
  readonly supports?: "images" | "audio";
};

/** Uses a template that renders only the content of messages. */
async function promptOf(content: string, options: PromptOptions): Promise<Prompt> {
  const { images = [], audio = [], marker, supports } = options;
  await using thread = new PreparationThread({
    templates: { default: "{% for message in messages %}{{ message.content }}{% endfor %}" },
    specialTokens: { beginning: "", end: "", addsBeginning: false, addsEnd: false },
  });
  const prompts = createPrompts({
    engine: unusedEngine,
    thread,
    facts: { beginningToken: undefined, preservedTokens: new Map(), infill: undefined },
    addsBeginning: false,
    mediaMarker: marker,
    support:
      marker === undefined
        ? { canSeeImages: false, canHearAudio: false }
        : { canSeeImages: supports !== "audio", canHearAudio: supports !== "images" },
  });
  const conversation = { messages: [{ role: "user", content, images, audio }] } as const;
  return await prompts.prompt({ type: "conversation", conversation }, new AbortController().signal);
}

const unusedEngine = {
  pid: 0,
  // A prompt with images does not use it.
  start: {} as never,
  speed: new PrefillSpeed(),
  request: () => Promise.reject(new Error("unexpected request")),
  stream: async function* () {},
  gone: new AbortController().signal,
  stop: () => Promise.resolve(),
  exited: new Promise<undefined>(() => undefined),
};

test("images are placed directly before the text of their message, as in llama.cpp", async () => {
  expect(await promptOf("Look", { images: [image, image], marker: mediaMarker })).toEqual({
    type: "media",
    text: `${mediaMarker}${mediaMarker}Look`,
    segments: ["", "", "Look"],
    media: [image, image],
  });
});

test("the last image is always followed by text, because the engine crashes otherwise", async () => {
  expect(await promptOf("", { images: [image], marker: mediaMarker })).toMatchObject({
    text: `${mediaMarker}\n`,
    segments: ["", "\n"],
  });
});

test("a media marker in the text of a message is escaped", async () => {
  const prompt = await promptOf(`say ${mediaMarker} and <__image__>`, {
    images: [image],
    marker: mediaMarker,
  });
  expect(prompt).toMatchObject({ text: `${mediaMarker}say < __media_x__> and < __image__>` });
});

test("sounds follow the images of their message", async () => {
  const prompt = await promptOf("Listen", { images: [image], audio: [clip], marker: mediaMarker });
  expect(prompt).toMatchObject({ text: `${mediaMarker}${mediaMarker}Listen`, media: [image, clip] });
});

test.each([
  { name: "images by a model without media", media: { images: [image] }, feature: "images" },
  { name: "audio by a model without media", media: { audio: [clip] }, feature: "audio input" },
  {
    name: "images by a model that only hears",
    media: { images: [image], marker: mediaMarker, supports: "audio" },
    feature: "images",
  },
  {
    name: "audio by a model that only sees",
    media: { audio: [clip], marker: mediaMarker, supports: "images" },
    feature: "audio input",
  },
] as const)("$name are rejected", async ({ media, feature }) => {
  await expect(promptOf("Look", media)).rejects.toMatchObject({
    failure: { kind: "not-supported", feature },
  });
});
