import { expect, test } from "vitest";
import {
  smol,
  startTestServer,
  type TestServerOptions,
  tinyVision,
} from "../../../test/start-test-server.ts";
import { baseRequest, fakeSteps, lastConversation, post, prompt, text } from "../test/scripts.ts";

const script: TestServerOptions["script"] = () => fakeSteps([prompt(3, 0), text("ok")]);
const start = (options: Partial<TestServerOptions> = {}) =>
  startTestServer({
    models: { smol, seeing: tinyVision },
    description: { splitsEvents: true },
    script,
    ...options,
  });

const pdf = {
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: Buffer.from("%PDF-1.7").toString("base64") },
};
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };

/** What an agent sends after its tool has read a file. */
const toolRound = (content: readonly object[]) => [
  { role: "user", content: "Read the file" },
  { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "Read", input: { path: "a" } }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content }] },
];

test("a PDF in a tool result → 400, and the agent's run ends: its text takes the position of the block", async () => {
  await using server = await start({
    readPdf: async (bytes) => `Text of ${Buffer.from(bytes).toString("latin1")}`,
  });
  const before = { type: "text", text: "PDF file read:" };
  const messages = toolRound([before, { ...pdf, title: "report.pdf" }, { type: "text", text: "End" }]);
  const response = await post(server, "/v1/messages", { ...baseRequest, messages });
  expect(response.status).toBe(200);
  expect(lastConversation(server).messages.at(-1)).toMatchObject({
    role: "tool",
    content: "PDF file read:\n\nreport.pdf\nText of %PDF-1.7\n\nEnd",
  });
  await post(server, "/v1/messages", {
    ...baseRequest,
    messages: [{ role: "user", content: [pdf, before] }],
  });
  expect(lastConversation(server).messages).toEqual([
    { role: "user", content: "Text of %PDF-1.7\n\nPDF file read:" },
  ]);
});

test("a sentence replaces a PDF without a reader, and one that it cannot read", async () => {
  const expected = {
    role: "tool",
    content: "report.pdf\n[The text of this PDF could not be read.]",
  };
  const readers: Partial<TestServerOptions>[] = [
    {},
    { readPdf: () => Promise.reject(new Error("encrypted")) },
    { readPdf: () => Promise.resolve(" \n") },
  ];
  for (const reader of readers) {
    await using server = await start(reader);
    const messages = toolRound([{ ...pdf, title: "report.pdf" }]);
    const response = await post(server, "/v1/messages", { ...baseRequest, messages });
    expect(response.status).toBe(200);
    expect(lastConversation(server).messages.at(-1)).toMatchObject(expected);
    expect(server.logRecords().at(-1)).toMatchObject({ skippedBlocks: 1 });
    const counted = await post(server, "/v1/messages/count_tokens", { model: "smol", messages });
    expect(counted.status).toBe(200);
  }
});

test("an image in the history of a text-only model → 400 for ever: a sentence takes its position", async () => {
  await using server = await start();
  const sentence = "[There is an image here, but this model cannot see images.]";
  const messages = [
    { role: "user", content: [{ type: "text", text: "See" }, image, { type: "text", text: "this" }] },
    { role: "assistant", content: "Yes" },
    ...toolRound([image]),
  ];
  const response = await post(server, "/v1/messages", { ...baseRequest, messages });
  expect(response.status).toBe(200);
  const shown = lastConversation(server).messages;
  expect(shown[0]).toEqual({ role: "user", content: `See\n\n${sentence}\n\nthis` });
  expect(shown.at(-1)).toMatchObject({ role: "tool", content: sentence });
  expect(server.logRecords().at(-1)).toMatchObject({ skippedBlocks: 2 });
});

test("a vision model sees the images of user turns and tool results", async () => {
  await using server = await start();
  const messages = [
    { role: "user", content: [image] },
    { role: "assistant", content: "Yes" },
    ...toolRound([image]),
  ];
  const response = await post(server, "/v1/messages", { ...baseRequest, model: "seeing", messages });
  expect(response.status).toBe(200);
  const shown = lastConversation(server).messages;
  expect(shown[0]).toMatchObject({ content: "", images: [{ mediaType: "image/png" }] });
  expect(shown.at(-1)).toMatchObject({ role: "user", images: [{ mediaType: "image/png" }] });
  expect(JSON.stringify(shown)).not.toContain("cannot see");
});
