import type { AudioClip, Image, Message } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { attachMedia } from "./attach-media.ts";

const image: Image = { bytes: Uint8Array.of(1), mediaType: "image/png" };
const clip: AudioClip = { bytes: Uint8Array.of(1), mediaType: "audio/wav", seconds: 1 };
const tool: Message = { role: "tool", content: "x" };
const user: Message = { role: "user", content: "Hello" };
const assistant: Message = { role: "assistant", content: "Hi" };

test("images of tool results follow the last result of their block", () => {
  const read = [{ message: tool, images: [image] }, { message: tool }, { message: assistant }];
  expect(attachMedia(read)).toEqual([tool, tool, { role: "user", content: "", images: [image] }, assistant]);
  expect(attachMedia([{ message: tool, images: [image] }])).toEqual([
    tool,
    { role: "user", content: "", images: [image] },
  ]);
});

test("a user message after the results takes their images, before its own", () => {
  const own = { ...image, mediaType: "image/gif" };
  const read = [{ message: tool, images: [image] }, { message: { ...user, images: [own] } as const }];
  expect(attachMedia(read)).toEqual([tool, { ...user, images: [image, own] }]);
});

test("audio of tool results follows them too", () => {
  const read = [{ message: tool, audio: [clip] }, { message: tool, images: [image] }, { message: assistant }];
  const media = { images: [image], audio: [clip] };
  expect(attachMedia(read)).toEqual([tool, tool, { role: "user", content: "", ...media }, assistant]);
  expect(attachMedia([{ message: tool, audio: [clip] }, { message: user }])).toEqual([
    tool,
    { ...user, audio: [clip] },
  ]);
});

test("messages without images of tools stay as they are", () => {
  const messages = [user, assistant, tool, user];
  expect(attachMedia(messages.map((message) => ({ message })))).toEqual(messages);
});
