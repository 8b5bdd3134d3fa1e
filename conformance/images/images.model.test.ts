import { recordFigure } from "@hearth-and-keep/figures";
import { startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawBmp, drawGif, drawJpeg, drawPng } from "../../apps/hearth/src/images/test/draw-images.ts";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import {
  anthropicMessage,
  imageCalls,
  openaiMessage,
  promptTokensOf,
  type SentImage,
  send,
  startVisionServer,
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
/** Tokens that llama.cpp's own server counts for one and for two images, without Hearth. */
let direct: { readonly one: number; readonly two: number };

beforeAll(async () => {
  server = stack.use(await startVisionServer());
  direct = await countDirectly();
}, 300_000);
afterAll(() => stack.disposeAsync());

async function countDirectly(): Promise<typeof direct> {
  const model = await testModel("tiny-llama.gguf");
  const projector = await testModel("tiny-projector.gguf");
  await using llama = await startLlamaServer({ model, projector });
  const count = async (shown: readonly SentImage[]): Promise<number> => {
    const response = await send(llama, "/v1/chat/completions", {
      messages: [openaiMessage(shown)],
      max_tokens: 1,
    });
    return promptTokensOf(response) ?? Number.NaN;
  };
  const none = await count([]);
  return { one: (await count(images.slice(0, 1))) - none, two: (await count(images.slice(0, 2))) - none };
}

test("an image of each format reaches the model through each endpoint, streamed and complete, with the engine's token count", async () => {
  const wrong: string[] = [];
  let right = 0;
  for (const call of imageCalls) {
    for (const stream of [false, true]) {
      const without = promptTokensOf(await send(server, call.path, call.body([], stream))) ?? Number.NaN;
      for (const image of images) {
        const response = await send(server, call.path, call.body([image], stream));
        const tokens = (promptTokensOf(response) ?? Number.NaN) - without;
        if (response.status === 200 && tokens === direct.one) right += 1;
        else wrong.push(`${call.path} ${image.mediaType} ${tokens}: ${response.text.slice(0, 200)}`);
      }
    }
  }
  const needed = imageCalls.length * 2 * images.length;
  expect(wrong).toEqual([]);
  expect(direct.one).toBe(16);
  recordFigure({
    claim: "engines 9",
    text: `${right} of ${needed} images of four formats through five endpoints, streamed and complete, count ${direct.one} tokens, as in llama.cpp's own server`,
    counted: { reached: right, needed },
  });
});

test.each(imageCalls)("two images through $path are both counted", async ({ path, body }) => {
  const without = promptTokensOf(await send(server, path, body([], false))) ?? Number.NaN;
  const two = promptTokensOf(await send(server, path, body(images.slice(0, 2), false)));
  expect(two).toBe(without + direct.two);
});

test.each(imageCalls)("the content of an image changes the output through $path", async ({ path, body }) => {
  const responseTo = async (colour: readonly [number, number, number]): Promise<string> => {
    const image = { mediaType: "image/png", bytes: drawPng({ ...size, colour }) };
    const { text } = await send(server, path, body([image], false));
    return (/"(?:content|response|text)":"(?:[^"\\]|\\.)*"/u.exec(text) ?? [text])[0];
  };
  expect(await responseTo(red)).toBe(await responseTo(red));
  expect(await responseTo(red)).not.toBe(await responseTo(blue));
});

test("count_tokens includes images", async () => {
  const body = { model: "seeing", messages: [anthropicMessage(images.slice(0, 1))], max_tokens: 4 };
  const counted = promptTokensOf(await send(server, "/alt/v1/messages/count_tokens", body));
  const used = promptTokensOf(await send(server, "/alt/v1/messages", body));
  expect(counted).toBe(used);
});

test.each(imageCalls.filter(({ protocol }) => protocol !== "anthropic"))(
  "a model without a projector rejects an image through $path",
  async ({ path, body }) => {
    const rejected = await send(server, path, { ...body(images.slice(0, 1), false), model: "blind" });
    expect([rejected.status, rejected.text]).toEqual([400, expect.stringContaining("vision")]);
    expect((await send(server, path, { ...body([], false), model: "blind" })).status).toBe(200);
  },
);

test.each(imageCalls.filter(({ protocol }) => protocol === "anthropic"))(
  "a model without a projector reads a sentence instead of an image through $path",
  async ({ path, body }) => {
    const sendToBlind = (sent: readonly SentImage[]) =>
      send(server, path, { ...body(sent, false), model: "blind" });
    const [without, replaced] = [await sendToBlind([]), await sendToBlind(images.slice(0, 1))];
    expect([without.status, replaced.status]).toEqual([200, 200]);
    expect(promptTokensOf(replaced)).toBeGreaterThan(promptTokensOf(without) ?? Number.NaN);
  },
);

test.each(imageCalls.filter(({ protocol }) => protocol !== "ollama"))(
  "an image URL is rejected through $path with the name of the setting",
  async ({ path, body }) => {
    const text = JSON.stringify(body(images.slice(0, 1), false))
      .replace(/data:image\/png;base64,[^"]+/u, "https://images.example/a.png")
      .replace(
        /\{"type":"base64","media_type":"[^"]+","data":"[^"]+"\}/u,
        '{"type":"url","url":"https://images.example/a.png"}',
      );
    const rejected = await send(server, path, JSON.parse(text));
    expect([rejected.status, rejected.text]).toEqual([400, expect.stringContaining("--image-hosts")]);
  },
);

test("a model with a projector reports the vision capability and its projector's metadata", async () => {
  const shown = await send(server, "/api/show", { model: "seeing" });
  expect(JSON.parse(shown.text)).toMatchObject({
    capabilities: expect.arrayContaining(["completion", "vision"]),
    projector_info: { "general.architecture": "clip", "general.parameter_count": expect.any(Number) },
  });
  const blind = JSON.parse((await send(server, "/api/show", { model: "blind" })).text);
  expect(blind.capabilities).not.toContain("vision");
  expect(blind).not.toHaveProperty("projector_info");
});

test("an image declared as another type is rejected, and accepted under its own type", async () => {
  const [call] = imageCalls.filter(({ path }) => path === "/alt/v1/messages");
  const gif = kinds["image/gif"];
  const sendAs = (mediaType: string) =>
    send(
      server,
      "/alt/v1/messages",
      call?.body([{ bytes: gif?.bytes ?? Buffer.alloc(0), mediaType }], false) ?? {},
    );
  expect((await sendAs("image/png")).text).toContain("is image/gif");
  expect((await sendAs("image/gif")).status).toBe(200);
});

test("an image with damaged pixel data is rejected as such, also if a schema constrains the output", async () => {
  const intact = drawPng(size);
  // Damages two bytes of the compressed pixels; the chunk structure stays valid.
  const bytes = Buffer.from(intact).fill(0xff, 45, 47);
  const body = {
    model: "seeing",
    messages: [openaiMessage([{ bytes, mediaType: "image/png" }])],
    max_tokens: 4,
  };
  const response_format = { type: "json_object" };
  for (const sent of [body, { ...body, response_format }]) {
    const rejected = await send(server, "/v1/chat/completions", sent);
    expect([rejected.status, rejected.text]).toEqual([
      400,
      expect.stringContaining("Cannot decode an image"),
    ]);
  }
});
