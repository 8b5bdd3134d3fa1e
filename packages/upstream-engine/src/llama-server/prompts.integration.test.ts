import { PreparationThread } from "@hearth-and-keep/chat-templates";
import type { Image } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { PrefillSpeed } from "./prefill-speed.ts";
import { createPrompts, type Prompt } from "./prompts.ts";

const image: Image = { bytes: new Uint8Array(1), mediaType: "image/png" };
const mediaMarker = "<__media_x__>";

/** Uses a template that renders only the content of messages. */
async function promptOf(content: string, images: readonly Image[], marker?: string): Promise<Prompt> {
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
  });
  const conversation = { messages: [{ role: "user", content, images }] } as const;
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
  expect(await promptOf("Look", [image, image], mediaMarker)).toEqual({
    type: "images",
    text: `${mediaMarker}${mediaMarker}Look`,
    segments: ["", "", "Look"],
    images: [image, image],
  });
});

test("the last image is always followed by text, because the engine crashes otherwise", async () => {
  expect(await promptOf("", [image], mediaMarker)).toMatchObject({
    text: `${mediaMarker}\n`,
    segments: ["", "\n"],
  });
});

test("a media marker in the text of a message is escaped", async () => {
  const prompt = await promptOf(`say ${mediaMarker} and <__image__>`, [image], mediaMarker);
  expect(prompt).toMatchObject({ text: `${mediaMarker}say < __media_x__> and < __image__>` });
});

test("images are rejected for a model without vision", async () => {
  await expect(promptOf("Look", [image])).rejects.toMatchObject({
    failure: { kind: "not-supported", feature: "images" },
  });
});
