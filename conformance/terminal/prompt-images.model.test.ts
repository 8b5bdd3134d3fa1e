import { mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { drawGif, drawPng } from "../../apps/hearth/src/images/test/draw-images.ts";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { startVisionServer } from "../images/image-calls.ts";
import { runHearth } from "./run-hearth.ts";
import { openTerminal, type TerminalWindow } from "./terminal-window.ts";

/** What llama.cpp's own server counts for an image of this size. */
const imageTokens = 16;
const size = { width: 80, height: 60 };
let server: TestServer;

beforeAll(async () => {
  server = await startVisionServer();
  return () => server[Symbol.asyncDispose]();
}, 300_000);

/** A chat with responses of three tokens, in a folder with images. */
async function openChat(model: string, flags = ""): Promise<TerminalWindow> {
  const window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
  await mkdir(join(window.home, "shots"));
  await writeFile(join(window.home, "one.png"), drawPng(size));
  await writeFile(join(window.home, "shots", "my holiday.png"), drawPng(size));
  await writeFile(join(window.home, "shots", "moving.GIF"), drawGif(size));
  await writeFile(join(window.home, "words.png"), "this is not an image");
  window.type(`hearth run ${model} ${flags}`);
  window.press("Enter");
  await window.waitFor(/>>>$/u, 60);
  window.type("/set parameter num_predict 3");
  window.press("Enter");
  await window.waitFor(/num_predict[^\n]*\n>>>$/u);
  return window;
}

/** The number of tokens of a prompt in an empty conversation. */
async function tokensOf(window: TerminalWindow, prompt: string): Promise<number> {
  const before = chatRequests().length;
  window.type("/clear");
  window.press("Enter");
  await window.waitFor(/\/clear\n[^\n]*\n>>>$/u);
  window.type(prompt);
  window.press("Enter");
  await expect.poll(() => chatRequests().length, { timeout: 20_000 }).toBeGreaterThan(before);
  await window.waitFor(/>>>$/u);
  return Number(chatRequests().at(-1)?.["promptTokens"]);
}

const chatRequests = () => server.logRecords().filter(({ route }) => route === "POST /api/chat");

test("an image path in a prompt is replaced by the image, however it is written", async () => {
  await using window = await openChat("seeing");
  const plain = await tokensOf(window, "What is on  ?");
  const { home } = window;
  for (const path of [
    "./one.png",
    "~/one.png",
    `${home}/one.png`,
    '"one.png"',
    "shots/my\\ holiday.png",
    "'shots/my holiday.png'",
    "shots/moving.GIF",
  ]) {
    expect([path, await tokensOf(window, `What is on ${path} ?`)]).toEqual([path, plain + imageTokens]);
  }
  const two = await tokensOf(window, "What is on   ?");
  expect(await tokensOf(window, "What is on ./one.png ~/one.png ?")).toBe(two + 2 * imageTokens);
}, 120_000);

test("a missing file, a file that is too large and a file that is not an image are reported without ending the chat", async () => {
  await using window = await openChat("seeing");
  const plain = await tokensOf(window, "What is on  ?");
  const file = await open(join(window.home, "large.png"), "w");
  await file.truncate(33 * 1024 * 1024);
  await file.close();
  const before = chatRequests().length;
  for (const [path, reason] of [
    ["./nowhere.png", "no such file"],
    ["~/large.png", "it is larger than 32 MiB"],
  ] as const) {
    window.type(`What is on ${path} ?`);
    window.press("Enter");
    await window.waitFor(
      new RegExp(`Cannot read the image "${path}": ${reason}\\nNext: check the path[^>]*>>>$`, "u"),
    );
  }
  expect(chatRequests().length).toBe(before);
  // A bare file name and a URL are sent as text.
  for (const text of ['"nowhere.png"', "https://example.com/a/nowhere.png"])
    expect(await tokensOf(window, `What is on ${text} ?`)).toBeGreaterThan(plain);
  window.type("What is on ./words.png ?");
  window.press("Enter");
  await window.waitFor(/Server error: [\s\S]*image[\s\S]*>>>$/u);
  expect(await tokensOf(window, "What is on ./one.png ?")).toBe(plain + imageTokens);
}, 120_000);

test("a model without image support receives the path as typed", async () => {
  await using window = await openChat("blind");
  const tokens = await tokensOf(window, "What is on ./one.png ?");
  expect(tokens).toBeGreaterThan(0);
  expect(tokens).toBe(await tokensOf(window, "What is on ./two.png ?"));
}, 120_000);

test("a single prompt accepts images by path and by --image, and names the one it cannot read", async () => {
  await using window = await openChat("seeing");
  const environment = { HEARTH_HOST: server.url };
  const run = async (...args: readonly string[]) => {
    const result = await runHearth(["run", "seeing", ...args], { environment, folder: window.home });
    return [result.code, chatRequests().at(-1)?.["promptTokens"]];
  };
  const [, plain] = await run("What is it?");
  const seen = [0, Number(plain) + imageTokens];
  expect(await run("./one.png What is it?")).toEqual(seen);
  expect(await run("What is it?", "--image", "one.png")).toEqual(seen);
  const args = ["run", "seeing", "What is it?", "--image", "two.png"];
  const missing = await runHearth(args, { environment, folder: window.home });
  expect(missing).toMatchObject({ code: 2, errors: expect.stringContaining('the image "two.png"') });
  const named = await runHearth(["run", "seeing", "What is in ./nope.png ?"], {
    environment,
    folder: window.home,
  });
  expect(named).toMatchObject({ code: 2, output: "" });
  expect(named.errors).toContain('Cannot read the image "./nope.png": no such file');
  const twice = ["--image", "one.png", "--image", "shots/my holiday.png", "What is it?"];
  expect(await run(...twice)).toEqual([0, Number(plain) + 2 * imageTokens]);
}, 120_000);

test("images given when a chat is opened are sent with the first message only", async () => {
  await using window = await openChat("seeing", "--image one.png");
  expect(window.readAll()).toContain("1 image will be sent with your first message");
  const sizes = [];
  for (const prompt of ["What is it?", "What is it?"]) {
    const before = chatRequests().length;
    window.type(prompt);
    window.press("Enter");
    await expect.poll(() => chatRequests().length, { timeout: 20_000 }).toBeGreaterThan(before);
    await window.waitFor(/>>>$/u);
    sizes.push(Number(chatRequests().at(-1)?.["promptTokens"]));
    window.type("/clear");
    window.press("Enter");
    await window.waitFor(/\/clear\n[^\n]*\n>>>$/u);
  }
  expect(sizes[0]).toBe((sizes[1] ?? 0) + imageTokens);
  window.type("/bye");
  window.press("Enter");
  await window.waitFor(/\n\$$/u);
  window.type("clear; hearth run seeing --image none.png");
  window.press("Enter");
  await window.waitFor(/Cannot read the image "none.png": no such file\nNext: [^\n]*\n\$$/u);
}, 120_000);
