import { recordFigure } from "@hearth-and-keep/figures";
import { startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawBmp, drawGif, drawJpeg, drawPng } from "../../apps/hearth/src/images/test/draw-images.ts";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import {
  chatMessage,
  imageCalls,
  messagesMessage,
  promptTokensOf,
  type SentImage,
  send,
  startSeeingServer,
} from "./image-calls.ts";

const size = { width: 80, height: 60 };
const [red, blue] = [[255, 0, 0] as const, [0, 0, 255] as const];
const images: readonly SentImage[] = [
  { mediaType: "image/png", bytes: drawPng({ ...size, colour: red }) },
  { mediaType: "image/jpeg", bytes: drawJpeg(size) },
  { mediaType: "image/gif", bytes: drawGif(size) },
  { mediaType: "image/bmp", bytes: drawBmp(size) },
];
const kinds = Object.fromEntries(images.map((image) => [image.mediaType, image]));

const stack = new AsyncDisposableStack();
let server: TestServer;
/** Tokens that llama.cpp's own server counts for one image and for two, asked without us. */
let direct: { readonly one: number; readonly two: number };

beforeAll(async () => {
  server = stack.use(await startSeeingServer());
  direct = await countDirectly();
}, 300_000);
afterAll(() => stack.disposeAsync());

async function countDirectly(): Promise<typeof direct> {
  const model = await testModel("tiny-llama.gguf");
  const projector = await testModel("tiny-projector.gguf");
  await using llama = await startLlamaServer({ model, projector });
  const count = async (shown: readonly SentImage[]): Promise<number> => {
    const answer = await send(llama, "/v1/chat/completions", {
      messages: [chatMessage(shown)],
      max_tokens: 1,
    });
    return promptTokensOf(answer) ?? Number.NaN;
  };
  const none = await count([]);
  return { one: (await count(images.slice(0, 1))) - none, two: (await count(images.slice(0, 2))) - none };
}

test("an image of each kind is seen through each way in, streamed and whole, and counts what the engine counts", async () => {
  const wrong: string[] = [];
  let right = 0;
  for (const call of imageCalls) {
    for (const stream of [false, true]) {
      const without = promptTokensOf(await send(server, call.path, call.body([], stream))) ?? Number.NaN;
      for (const image of images) {
        const answer = await send(server, call.path, call.body([image], stream));
        const tokens = (promptTokensOf(answer) ?? Number.NaN) - without;
        if (answer.status === 200 && tokens === direct.one) right += 1;
        else wrong.push(`${call.path} ${image.mediaType} ${tokens}: ${answer.text.slice(0, 200)}`);
      }
    }
  }
  const needed = imageCalls.length * 2 * images.length;
  expect(wrong).toEqual([]);
  expect(direct.one).toBe(16);
  recordFigure({
    claim: "engines 9",
    text: `${right} of ${needed} images of four kinds through five ways in, streamed and whole, count ${direct.one} tokens as llama.cpp's own server counts them`,
    counted: { reached: right, needed },
  });
});

test.each(imageCalls)("two images through $path count as two", async ({ path, body }) => {
  const without = promptTokensOf(await send(server, path, body([], false))) ?? Number.NaN;
  const two = promptTokensOf(await send(server, path, body(images.slice(0, 2), false)));
  expect(two).toBe(without + direct.two);
});

test.each(imageCalls)("what is on an image changes the answer through $path", async ({ path, body }) => {
  const answerTo = async (colour: readonly [number, number, number]): Promise<string> => {
    const image = { mediaType: "image/png", bytes: drawPng({ ...size, colour }) };
    const { text } = await send(server, path, body([image], false));
    return (/"(?:content|response|text)":"(?:[^"\\]|\\.)*"/u.exec(text) ?? [text])[0];
  };
  expect(await answerTo(red)).toBe(await answerTo(red));
  expect(await answerTo(red)).not.toBe(await answerTo(blue));
});

test("a count of tokens before asking counts images too", async () => {
  const body = { model: "seeing", messages: [messagesMessage(images.slice(0, 1))], max_tokens: 4 };
  const counted = promptTokensOf(await send(server, "/alt/v1/messages/count_tokens", body));
  const asked = promptTokensOf(await send(server, "/alt/v1/messages", body));
  expect(counted).toBe(asked);
});

test.each(imageCalls)(
  "a model without a projector refuses an image through $path",
  async ({ path, body }) => {
    const refused = await send(server, path, { ...body(images.slice(0, 1), false), model: "blind" });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("vision")]);
    expect((await send(server, path, { ...body([], false), model: "blind" })).status).toBe(200);
  },
);

test.each(imageCalls.filter(({ family }) => family !== "ollama"))(
  "an address is refused through $path with the name of the setting",
  async ({ path, body }) => {
    const text = JSON.stringify(body(images.slice(0, 1), false))
      .replace(/data:image\/png;base64,[^"]+/u, "https://images.example/a.png")
      .replace(
        /\{"type":"base64","media_type":"[^"]+","data":"[^"]+"\}/u,
        '{"type":"url","url":"https://images.example/a.png"}',
      );
    const refused = await send(server, path, JSON.parse(text));
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("--image-hosts")]);
  },
);

test("a model with a projector says that it sees, and what its projector is", async () => {
  const shown = await send(server, "/api/show", { model: "seeing" });
  expect(JSON.parse(shown.text)).toMatchObject({
    capabilities: expect.arrayContaining(["completion", "vision"]),
    projector_info: { "general.architecture": "clip", "general.parameter_count": expect.any(Number) },
  });
  const blind = JSON.parse((await send(server, "/api/show", { model: "blind" })).text);
  expect(blind.capabilities).not.toContain("vision");
  expect(blind).not.toHaveProperty("projector_info");
});

test("an image that is said to be of another kind is refused, and taken under its own name", async () => {
  const [call] = imageCalls.filter(({ path }) => path === "/alt/v1/messages");
  const gif = kinds["image/gif"];
  const askAs = (mediaType: string) =>
    send(
      server,
      "/alt/v1/messages",
      call?.body([{ bytes: gif?.bytes ?? Buffer.alloc(0), mediaType }], false) ?? {},
    );
  expect((await askAs("image/png")).text).toContain("is image/gif");
  expect((await askAs("image/gif")).status).toBe(200);
});

test("an image whose rest is damaged is refused as such, also where a schema forces the answer", async () => {
  const whole = drawPng(size);
  // Two bytes inside the packed pixels; the chunks around them stay whole.
  const bytes = Buffer.from(whole).fill(0xff, 45, 47);
  const body = {
    model: "seeing",
    messages: [chatMessage([{ bytes, mediaType: "image/png" }])],
    max_tokens: 4,
  };
  const response_format = { type: "json_object" };
  for (const sent of [body, { ...body, response_format }]) {
    const refused = await send(server, "/v1/chat/completions", sent);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("Cannot decode an image")]);
  }
});
