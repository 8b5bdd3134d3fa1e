import { PreparingThread } from "@hearth-and-keep/chat-templates";
import type { Image } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { createPrompts, type Prompt } from "./prompts.ts";
import { ReadingSpeed } from "./prefill-speed.ts";

const image: Image = { bytes: new Uint8Array(1), mediaType: "image/png" };
const mediaMarker = "<__media_x__>";

/** With a template that writes what users say and nothing else. */
async function promptOf(content: string, images: readonly Image[], marker?: string): Promise<Prompt> {
  await using thread = new PreparingThread({
    templates: { usual: "{% for message in messages %}{{ message.content }}{% endfor %}" },
    specialTokens: { beginning: "", end: "", addsBeginning: false, addsEnd: false },
  });
  const prompts = createPrompts({
    engine: noEngine,
    thread,
    facts: { beginningToken: undefined, keptTokens: new Map(), infill: undefined },
    addsBeginning: false,
    mediaMarker: marker,
  });
  const conversation = { messages: [{ role: "user", content, images }] } as const;
  return await prompts.prompt({ type: "conversation", conversation }, new AbortController().signal);
}

const noEngine = {
  pid: 0,
  // Nothing of it is asked for a prompt with images.
  start: {} as never,
  speed: new ReadingSpeed(),
  ask: () => Promise.reject(new Error("nobody is to be asked")),
  stream: async function* () {},
  gone: new AbortController().signal,
  stop: () => Promise.resolve(),
  ended: new Promise<undefined>(() => undefined),
};

test("images stand right before the words they came with, as llama.cpp puts them", async () => {
  expect(await promptOf("Look", [image, image], mediaMarker)).toEqual({
    type: "images",
    text: `${mediaMarker}${mediaMarker}Look`,
    pieces: ["", "", "Look"],
    images: [image, image],
  });
});

test("something follows the last image, because the engine ends itself when nothing does", async () => {
  expect(await promptOf("", [image], mediaMarker)).toMatchObject({
    text: `${mediaMarker}\n`,
    pieces: ["", "\n"],
  });
});

test("a marker in somebody's words is broken up, so that it stands for no image", async () => {
  const prompt = await promptOf(`say ${mediaMarker} and <__image__>`, [image], mediaMarker);
  expect(prompt).toMatchObject({ text: `${mediaMarker}say < __media_x__> and < __image__>` });
});

test("a model that cannot see is shown none", async () => {
  await expect(promptOf("Look", [image])).rejects.toMatchObject({
    failure: { kind: "not-supported", feature: "images" },
  });
});
