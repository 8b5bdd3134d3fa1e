import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import {
  type ModelRegistry,
  makeTemporaryFolder,
  runPython,
  startModelRegistry,
  testModel,
  type Watched,
  watchPage,
} from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fillRegistry } from "../../../conformance/transfers/fill-registry.ts";
import { askOn, tellAnswer } from "./mock-chat-response.ts";
import { type PageStage, smol, startPageStage } from "./page-fixture.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const run = promisify(execFile);
const flows: string[] = [];
const neededFlows = 16;
/** Their lines were copied from the page and run. */
const clientsRun: string[] = [];
const neededClients = 9;

let stage: PageStage;
let registry: ModelRegistry;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  registry = await startModelRegistry();
  await fillRegistry(registry, { repository: "team/tiny", file: await testModel("tiny-llama.gguf") });
  stage = await startPageStage({ models: smol });
  page = await stage.open();
  watched = await watchPage(page, { origin: stage.url, allowsRefusals: () => true });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: stage.url });
  await page.reload();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 4",
    text: `${flows.length} of ${neededFlows} flows in Chromium on the real server and SmolLM2: ${flows.join(", ")}`,
    counted: { reached: flows.length, needed: neededFlows },
  });
  recordFigure({
    claim: "people 4",
    text: `connect code copied from the page and run: ${clientsRun.join(", ")}`,
    counted: { reached: clientsRun.length, needed: neededClients },
  });
});

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
const answers = () => page.locator(".answer .markdown");

async function waitForEnd(): Promise<void> {
  await button("Regenerate").waitFor({ timeout: 60_000 });
}

/** Long answers of small weights take a while; the tests are about the page. */
async function limitAnswers(tokens: number): Promise<void> {
  await page.getByRole("button", { name: /^Parameters/u }).click();
  await page.getByLabel("Longest answer").fill(String(tokens));
  await page.getByLabel("Temperature").fill("0");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

test("a chat is answered by the model, with its figures, and is there after the page is loaded anew", async () => {
  await limitAnswers(24);
  await askOn(page, "What is the capital of France?");
  await waitForEnd();
  const text = await answers().last().textContent();
  expect(text).toContain("Paris");
  expect(await page.locator(".figures").textContent()).toMatch(
    /smol:latest · \d+ tokens · [\d.]+ tokens\/s/u,
  );
  flows.push("chat");
  await page.reload();
  await waitForEnd();
  expect(await answers().last().textContent()).toBe(text);
  expect(await page.getByRole("link", { name: "What is the capital of France?" }).count()).toBe(1);
  flows.push("kept in the browser");
});

test("a second question knows the first, and another answer replaces the last", async () => {
  await askOn(page, "And of Italy?");
  await expect.poll(() => page.locator(".answer").count(), { timeout: 60_000 }).toBe(2);
  await waitForEnd();
  expect(await answers().last().textContent()).toMatch(/Rome|Italy/u);
  await button("Regenerate").click();
  await page.getByText("The answer is being written").waitFor({ state: "attached" });
  await waitForEnd();
  expect(await page.locator(".answer").count()).toBe(2);
  flows.push("regenerate");
});

test("a question in other words replaces what followed it", async () => {
  await button("Edit this question").first().click();
  await page.getByLabel("The question in other words").fill("What is the capital of Spain?");
  await button("Ask anew").click();
  await expect.poll(() => page.locator(".question").count()).toBe(1);
  await waitForEnd();
  expect(await page.locator(".answer").count()).toBe(1);
  expect(await answers().last().textContent()).not.toContain("Paris");
  flows.push("edit");
});

test("an answer that is stopped keeps what came, and the server stops writing", async () => {
  await page.getByRole("link", { name: "New chat" }).click();
  // So long that nobody comes too late to stop it.
  await limitAnswers(1000);
  await askOn(page, "Write a long story about a dragon and a castle.");
  await answers().first().waitFor({ timeout: 60_000 });
  await button("Stop").click();
  await page.getByText("Stopped.", { exact: true }).waitFor();
  expect((await answers().last().textContent()) ?? "").not.toBe("");
  await expect.poll(() => readGauge("hearth_requests_running"), { timeout: 10_000 }).toBe(0);
  await limitAnswers(24);
  flows.push("stop");
});

async function readGauge(name: string): Promise<number> {
  const text = await (await fetch(`${stage.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "mu").exec(text)?.[1]);
}

test("an answer that breaks off keeps what came and says so, and a refusal says what to do", async () => {
  await tellAnswer(page, { text: "Half of an ans", isCut: true });
  await page.getByRole("link", { name: "New chat" }).click();
  await askOn(page, "Break");
  await page.getByText("The answer broke off half-way").waitFor();
  expect(await answers().last().textContent()).toBe("Half of an ans");
  await page.unroute("**/api/chat");
  const error = 'model "gone" not found, try pulling it first';
  await tellAnswer(page, { refusal: { status: 404, error } });
  await askOn(page, "Refuse");
  await page.getByText("Pull it under Models, or choose another model above.").waitFor();
  await page.unroute("**/api/chat");
  await page.route("**/api/chat", (route) => route.abort());
  await askOn(page, "Nobody there");
  await page.getByText("Start it with: hearth serve").waitFor();
  await page.unroute("**/api/chat");
  flows.push("broken off, refused and unreachable");
});

test("a chat is deleted, and all are", async () => {
  const before = await page.locator(".chat-side li").count();
  await button(/^Delete the chat Break/u).click();
  await expect.poll(() => page.locator(".chat-side li").count()).toBe(before - 1);
  await button("Clear all").click();
  await button("Delete all").click();
  await expect.poll(() => page.locator(".chat-side li").count()).toBe(0);
  await page.reload();
  await page.getByText("What is on your mind?").waitFor();
  expect(await page.locator(".chat-side li").count()).toBe(0);
  flows.push("chats deleted");
});

const modelName = (): string => `${new URL(registry.url).host}/team/tiny:latest`;

test("a model is pulled from a registry with its progress, and shown", async () => {
  await page.goto(`${stage.url}/ui/models`);
  await page.getByLabel("Pull a model").fill(modelName());
  await page.getByLabel("Plain HTTP").check();
  await button("Pull").click();
  await page.getByText("Complete").waitFor();
  await button(`Show ${modelName()}`).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Template").click();
  await expect.poll(() => dialog.textContent()).toMatch(/temperature/u);
  await dialog.getByRole("button", { name: "Close" }).click();
  flows.push("pull", "show");
});

test("a pull that is cancelled says how to go on, and one of nothing says what is wrong", async () => {
  await page.route("**/api/pull", () => undefined);
  await page.getByLabel("Pull a model").fill("endless");
  await button("Pull").click();
  await button("Cancel the pull of endless").click();
  await page.getByText("pull it again to go on where it ended").waitFor();
  await page.unroute("**/api/pull");
  await page.getByLabel("Pull a model").fill(`${new URL(registry.url).host}/team/nothing`);
  await button("Pull").click();
  await page.getByText("Look at the spelling").waitFor();
  expect(await page.locator(".notice.bad").count()).toBe(1);
  flows.push("pull cancelled and failed");
});

test("a model is deleted after one question", async () => {
  await button(`Delete ${modelName()}`).click();
  const dialog = page.getByRole("dialog", { name: `Delete ${modelName()}?` });
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await button(`Delete ${modelName()}`).count()).toBe(0);
  const { models } = JSON.parse(await (await fetch(`${stage.url}/api/tags`)).text());
  expect(models).toHaveLength(1);
  flows.push("delete");
});

test("the charts move under load", async () => {
  await page.goto(`${stage.url}/ui/live`);
  const chart = page.getByRole("img", { name: /^Tokens per second/u });
  await chart.waitFor();
  const still = await chart.screenshot();
  const load = ["One", "Two", "Three"].map((prompt) =>
    fetch(`${stage.url}/api/generate`, {
      method: "POST",
      body: JSON.stringify({ model: "smol", prompt, stream: false, options: { num_predict: 120, seed: 1 } }),
    }).then((answer) => answer.text()),
  );
  const tile = (name: string) => page.locator(".tile", { hasText: name }).locator("dd");
  await expect.poll(async () => Number(await tile("Answers under way").textContent())).toBeGreaterThan(0);
  await expect
    .poll(async () => Number(await tile("Tokens per second").textContent()), { timeout: 30_000 })
    .toBeGreaterThan(0);
  await page.getByText("smol:latest").waitFor();
  expect((await chart.screenshot()).equals(still)).toBe(false);
  expect(await chart.getAttribute("aria-label")).toMatch(/Tokens [1-9]/u);
  await Promise.all(load);
  flows.push("charts move under load");
});

test("nobody looks while the tab is hidden", async () => {
  let looks = 0;
  page.on("request", (request) => (looks += Number(request.url().endsWith("/metrics"))));
  await expect.poll(() => looks, { timeout: 10_000 }).toBeGreaterThan(1);
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
  // One look may be under way.
  await page.waitForTimeout(1200);
  const before = looks;
  await page.waitForTimeout(2500);
  expect(looks).toBe(before);
  flows.push("hidden tab is quiet");
});

async function copyLines(name: string): Promise<string> {
  await page.getByRole("button", { name, exact: true }).click();
  await page.getByRole("heading", { name, exact: true }).waitFor();
  const copy = page.locator("figure.code").last().getByRole("button", { name: /^Copy/u });
  await copy.click();
  await copy.getByText("Copied").first().waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}

const scripts = [
  "Ollama for JavaScript",
  "OpenAI for JavaScript",
  "Anthropic for JavaScript",
  "Vercel AI SDK",
  "LangChain for JavaScript",
];
const pythonScripts = ["Ollama for Python", "OpenAI for Python", "Anthropic for Python"];

test("connect code is copied and runs as it is, for every client that is here", {
  timeout: 180_000,
}, async () => {
  await page.goto(`${stage.url}/ui/connect`);
  await page.getByText("This server asks for no key").waitFor();
  await using folder = await makeTemporaryFolder("connect");
  const shell = await run("bash", ["-c", await copyLines("curl")]);
  expect(JSON.parse(shell.stdout).message.content).not.toBe("");
  const printed = new Map<string, Promise<string>>();
  for (const name of scripts) {
    const words = ["--input-type=module", "--eval", await copyLines(name)];
    printed.set(
      name,
      run(process.execPath, words, { cwd: root }).then(({ stdout }) => stdout),
    );
  }
  for (const [place, name] of pythonScripts.entries()) {
    const file = join(folder.path, `lines-${place}.py`);
    await writeFile(file, await copyLines(name));
    printed.set(name, runPython(file));
  }
  for (const [name, text] of printed) expect((await text).trim(), name).not.toBe("");
  clientsRun.push("curl", ...printed.keys());
  flows.push("connect code copied and run");
});

test("what a model says stays text: no script, no foreign image, no other link, no turned words", async () => {
  const hostile = [
    "<script>window.isBroken = true</script>",
    "<img src=x onerror='window.isBroken = true'>",
    "[press](javascript:window.isBroken=true) [data](data:text/html,<script>1</script>)",
    "![pixel](https://evil.example/pixel.png) [web](https://good.example/)",
    "<iframe src='https://evil.example'></iframe>",
    "| a | b |\n|---|---|\n| <b onclick='window.isBroken=true'>x</b> | y |",
    "safe \u202Etxt.exe",
    "```html\n<script>window.isBroken = true</script>\n```",
  ].join("\n\n");
  await tellAnswer(page, { text: hostile });
  await page.goto(`${stage.url}/ui`);
  await askOn(page, "Be hostile");
  await waitForEnd();
  const found = await page.evaluate(() => ({
    isBroken: "isBroken" in window,
    tags: document.querySelectorAll(".answer :is(script, img, iframe, b, style, form)").length,
    links: [...document.querySelectorAll<HTMLAnchorElement>(".answer a")].map(({ href, rel }) => [href, rel]),
    text: document.querySelector(".answer")?.textContent ?? "",
  }));
  expect(found.isBroken).toBe(false);
  expect(found.tags).toBe(0);
  expect(found.links).toEqual([
    ["https://evil.example/pixel.png", "noreferrer noopener"],
    ["https://good.example/", "noreferrer noopener"],
  ]);
  expect(found.text).toContain("<script>window.isBroken = true</script>");
  expect(found.text).toContain("⟦U+202E⟧txt.exe");
  await page.unroute("**/api/chat");
  await tellAnswer(page, { text: "x".repeat(1_000_000) });
  await askOn(page, "One line of a megabyte");
  await page.getByText("and 800,000 more characters").waitFor();
  const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(tooWide).toBe(0);
  await page.unroute("**/api/chat");
  expect(watched.takeTroubles()).toEqual([]);
  flows.push("hostile answers are inert");
});

test("with a key the browser asks for it once, the page works, and the lines have a variable in its place", async () => {
  const key = "canary-page-key";
  await using locked = await startPageStage({
    models: { tiny: "tiny-llama.gguf" },
    key,
    browser: stage.browser,
  });
  await expect(locked.open()).rejects.toThrow("ERR_INVALID_AUTH_CREDENTIALS");
  const visitor = { httpCredentials: { username: "anybody", password: key } };
  const person = await locked.open("/connect", visitor);
  await person.getByText("This server asks for a key").waitFor();
  await expect.poll(() => person.locator("figure.code").last().textContent()).toContain('"$HEARTH_API_KEY"');
  await person.getByLabel("Key", { exact: true }).fill("pasted-key");
  await expect.poll(() => person.locator("figure.code").last().textContent()).toContain("'pasted-key'");
  expect(JSON.stringify(await person.context().storageState({ indexedDB: true }))).not.toContain(
    "pasted-key",
  );
  await person.goto(locked.url);
  await person.getByText("What is on your mind?").waitFor();
  expect(new URL(person.url()).pathname).toBe("/ui");
  await askOn(person, "Hello");
  await person.getByRole("button", { name: "Stop" }).waitFor();
  await expect
    .poll(() => person.locator(".answer .markdown, .answer .thinking").count(), { timeout: 30_000 })
    .toBeGreaterThan(0);
  expect(await person.locator(".notice.bad").count()).toBe(0);
  expect(locked.log()).not.toContain(key);
  flows.push("key by Basic");
});
