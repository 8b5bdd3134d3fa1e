import { mkdir, open, writeFile } from "node:fs/promises";
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
async function openChat(model: string, flags = ""): Promise<TerminalWindow> {
  const window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
  await mkdir(join(window.home, "shots"));
  await writeFile(join(window.home, "one.png"), drawPng(size));
  await writeFile(join(window.home, "shots", "my holiday.png"), drawPng(size));
  await writeFile(join(window.home, "shots", "moving.GIF"), drawGif(size));
  await writeFile(join(window.home, "words.png"), "these are no points");
  window.type(`hearth run ${model} ${flags}`);
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

test("a path of nothing, one of too much and a file that is no picture are told without ending the chat", async () => {
  await using window = await openChat("seeing");
  const plain = await tokensOf(window, "What is on  ?");
  const file = await open(join(window.home, "large.png"), "w");
  await file.truncate(33 * 1024 * 1024);
  await file.close();
  const before = answers().length;
  for (const [path, why] of [
    ["./nowhere.png", "there is no such file"],
    ["~/large.png", "it is longer than 32 MiB"],
  ] as const) {
    window.type(`What is on ${path} ?`);
    window.press("Enter");
    await window.waitFor(
      new RegExp(`Cannot read the picture "${path}": ${why}\\nNext: correct the path[^>]*>>>$`, "u"),
    );
  }
  expect(answers().length).toBe(before);
  // Words like others: a name without a folder, and an address.
  for (const words of ['"nowhere.png"', "https://example.com/a/nowhere.png"])
    expect(await tokensOf(window, `What is on ${words} ?`)).toBeGreaterThan(plain);
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
  const named = await runHearth(["run", "seeing", "What is in ./nope.png ?"], {
    environment,
    folder: window.home,
  });
  expect(named).toMatchObject({ code: 2, output: "" });
  expect(named.errors).toContain('Cannot read the picture "./nope.png": there is no such file');
  const twice = ["--image", "one.png", "--image", "shots/my holiday.png", "What is it?"];
  expect(await ask(...twice)).toEqual([0, Number(plain) + 2 * pictureTokens]);
}, 120_000);

test("a chat that was opened with pictures shows them with the first question, and no other", async () => {
  await using window = await openChat("seeing", "--image one.png");
  expect(window.readAll()).toContain("The picture goes with the first question");
  const sizes = [];
  for (const question of ["What is it?", "What is it?"]) {
    const before = answers().length;
    window.type(question);
    window.press("Enter");
    await expect.poll(() => answers().length, { timeout: 20_000 }).toBeGreaterThan(before);
    await window.waitFor(/>>>$/u);
    sizes.push(Number(answers().at(-1)?.["promptTokens"]));
    window.type("/clear");
    window.press("Enter");
    await window.waitFor(/\/clear\n[^\n]*\n>>>$/u);
  }
  expect(sizes[0]).toBe((sizes[1] ?? 0) + pictureTokens);
  window.type("/bye");
  window.press("Enter");
  await window.waitFor(/\n\$$/u);
  window.type("clear; hearth run seeing --image none.png");
  window.press("Enter");
  await window.waitFor(/Cannot read the picture "none.png": there is no such file\nNext: [^\n]*\n\$$/u);
}, 120_000);
