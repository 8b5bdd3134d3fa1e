import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { drawGif, drawPng } from "../../apps/hearth/src/images/test/draw-images.ts";
import type { TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { startSeeingServer } from "../images/image-calls.ts";
import { runHearth } from "./run-hearth.ts";
import { openTerminal, type TerminalWindow } from "./terminal-window.ts";

/** What llama.cpp's own server counts for a picture of this size. */
const pictureTokens = 16;
const size = { width: 80, height: 60 };
let server: TestServer;

beforeAll(async () => {
  server = await startSeeingServer();
  return () => server[Symbol.asyncDispose]();
}, 300_000);

/** A chat of three tokens an answer, in a folder with pictures. */
async function openChat(model: string): Promise<TerminalWindow> {
  const window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
  await mkdir(join(window.home, "shots"));
  await writeFile(join(window.home, "one.png"), drawPng(size));
  await writeFile(join(window.home, "shots", "my holiday.png"), drawPng(size));
  await writeFile(join(window.home, "shots", "moving.GIF"), drawGif(size));
  await writeFile(join(window.home, "words.png"), "these are no points");
  window.type(`hearth run ${model}`);
  window.press("Enter");
  await window.waitFor(/>>>$/u, 60);
  window.type("/set parameter num_predict 3");
  window.press("Enter");
  await window.waitFor(/num_predict[^\n]*\n>>>$/u);
  return window;
}

/** How many tokens the question had, asked into an empty conversation. */
async function tokensOf(window: TerminalWindow, question: string): Promise<number> {
  const before = answers().length;
  window.type("/clear");
  window.press("Enter");
  await window.waitFor(/\/clear\n[^\n]*\n>>>$/u);
  window.type(question);
  window.press("Enter");
  await expect.poll(() => answers().length, { timeout: 20_000 }).toBeGreaterThan(before);
  await window.waitFor(/>>>$/u);
  return Number(answers().at(-1)?.["promptTokens"]);
}

const answers = () => server.logged().filter(({ route }) => route === "POST /api/chat");

test("the path of a picture in a question becomes the picture, however it is written", async () => {
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
    expect([path, await tokensOf(window, `What is on ${path} ?`)]).toEqual([path, plain + pictureTokens]);
  }
  const two = await tokensOf(window, "What is on   ?");
  expect(await tokensOf(window, "What is on ./one.png ~/one.png ?")).toBe(two + 2 * pictureTokens);
}, 120_000);

test("a path of nothing stays words, and a file that is no picture is refused without ending the chat", async () => {
  await using window = await openChat("seeing");
  const plain = await tokensOf(window, "What is on  ?");
  const missing = await tokensOf(window, "What is on ./nowhere.png ?");
  expect(missing).toBeGreaterThan(plain);
  window.type("What is on ./words.png ?");
  window.press("Enter");
  await window.waitFor(/The server says: [\s\S]*image[\s\S]*>>>$/u);
  expect(await tokensOf(window, "What is on ./one.png ?")).toBe(plain + pictureTokens);
}, 120_000);

test("a model that does not see gets the path as it was typed", async () => {
  await using window = await openChat("blind");
  const tokens = await tokensOf(window, "What is on ./one.png ?");
  expect(tokens).toBeGreaterThan(0);
  expect(tokens).toBe(await tokensOf(window, "What is on ./two.png ?"));
}, 120_000);

test("a question outside of a chat takes pictures by path and by --image, and says which it cannot read", async () => {
  await using window = await openChat("seeing");
  const environment = { HEARTH_HOST: server.url };
  const ask = async (...words: readonly string[]) => {
    const ended = await runHearth(["run", "seeing", ...words], { environment, folder: window.home });
    return [ended.code, answers().at(-1)?.["promptTokens"]];
  };
  const [, plain] = await ask("What is it?");
  const seen = [0, Number(plain) + pictureTokens];
  expect(await ask("./one.png What is it?")).toEqual(seen);
  expect(await ask("What is it?", "--image", "one.png")).toEqual(seen);
  const words = ["run", "seeing", "What is it?", "--image", "two.png"];
  const missing = await runHearth(words, { environment, folder: window.home });
  expect(missing).toMatchObject({ code: 2, errors: expect.stringContaining('the picture "two.png"') });
}, 120_000);
