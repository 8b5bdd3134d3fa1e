import type { Image, Message } from "@hearth-and-keep/engine";
import { expect, test } from "vitest";
import { attachImages } from "./attach-images.ts";

const image: Image = { bytes: Uint8Array.of(1), mediaType: "image/png" };
const tool: Message = { role: "tool", content: "x" };
const user: Message = { role: "user", content: "Hello" };
const assistant: Message = { role: "assistant", content: "Hi" };

test("images of tool results follow the last result of their block", () => {
  const read = [{ message: tool, images: [image] }, { message: tool }, { message: assistant }];
  expect(attachImages(read)).toEqual([tool, tool, { role: "user", content: "", images: [image] }, assistant]);
  expect(attachImages([{ message: tool, images: [image] }])).toEqual([
    tool,
    { role: "user", content: "", images: [image] },
  ]);
});

test("a user message after the results takes their images, before its own", () => {
  const own = { ...image, mediaType: "image/gif" };
  const read = [{ message: tool, images: [image] }, { message: { ...user, images: [own] } as const }];
  expect(attachImages(read)).toEqual([tool, { ...user, images: [image, own] }]);
});

test("messages without images of tools stay as they are", () => {
  const messages = [user, assistant, tool, user];
  expect(attachImages(messages.map((message) => ({ message })))).toEqual(messages);
});
