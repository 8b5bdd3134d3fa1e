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
import { seedRegistry } from "../../../conformance/transfers/seed-registry.ts";
import { mockChatResponse, sendPrompt } from "./mock-chat-response.ts";
import { smol, startWebUi, type WebUiFixture } from "./web-ui-fixture.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const run = promisify(execFile);
const flows: string[] = [];
const neededFlows = 17;
/** Clients whose snippets were copied from the page and executed. */
const clientsRun: string[] = [];
const neededClients = 9;

let fixture: WebUiFixture;
let registry: ModelRegistry;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  registry = await startModelRegistry();
  await seedRegistry(registry, { repository: "team/tiny", file: await testModel("tiny-llama.gguf") });
  fixture = await startWebUi({ models: smol });
  page = await fixture.open();
  watched = await watchPage(page, { origin: fixture.url, allowsRefusals: () => true });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: fixture.url });
  await page.reload();
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 4",
    text: `${flows.length} of ${neededFlows} flows in Chromium on the real server and SmolLM2: ${flows.join(", ")}`,
    counted: { reached: flows.length, needed: neededFlows },
  });
  recordFigure({
    claim: "people 4",
    text: `Connect snippets copied from the page and executed: ${clientsRun.join(", ")}`,
    counted: { reached: clientsRun.length, needed: neededClients },
  });
});

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
const responses = () => page.locator(".response .markdown");

async function waitForEnd(): Promise<void> {
  await button("Regenerate").waitFor({ timeout: 60_000 });
}

/** Long outputs take a while, and the tests are about the page. */
async function limitOutput(tokens: number): Promise<void> {
  await page.getByRole("button", { name: /^Parameters/u }).click();
  await page.getByLabel("Max output tokens").fill(String(tokens));
  await page.getByLabel("Temperature").fill("0");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

test("a chat shows the model's response with its stats, and survives a reload", async () => {
  await limitOutput(24);
  await sendPrompt(page, "What is the capital of France?");
  await waitForEnd();
  const text = await responses().last().textContent();
  expect(text).toContain("Paris");
  expect(await page.locator(".response-stats").textContent()).toMatch(
    /smol:latest · \d+ tokens · [\d.]+ tokens\/s/u,
  );
  flows.push("chat");
  await page.reload();
  await waitForEnd();
  expect(await responses().last().textContent()).toBe(text);
  expect(await page.getByRole("link", { name: "What is the capital of France?" }).count()).toBe(1);
  flows.push("stored in the browser");
});

test("a second message continues the conversation, and regenerating replaces the last response", async () => {
  await sendPrompt(page, "And of Italy?");
  await expect.poll(() => page.locator(".response").count(), { timeout: 60_000 }).toBe(2);
  await waitForEnd();
  expect(await responses().last().textContent()).toMatch(/Rome|Italy/u);
  await button("Regenerate").click();
  await page.getByText("Generating a response").waitFor({ state: "attached" });
  await waitForEnd();
  expect(await page.locator(".response").count()).toBe(2);
  flows.push("regenerate");
});

test("editing a message replaces everything after it", async () => {
  await button("Edit message").first().click();
  await page.getByLabel("Edited message").fill("What is the capital of Spain?");
  await button("Resend").click();
  await expect.poll(() => page.locator(".prompt").count()).toBe(1);
  await waitForEnd();
  expect(await page.locator(".response").count()).toBe(1);
  expect(await responses().last().textContent()).not.toContain("Paris");
  flows.push("edit");
});

test("stopping a response keeps its text, and the server stops generating", async () => {
  await page.getByRole("link", { name: "New chat" }).click();
  // Long enough that it is still running when it is stopped.
  await limitOutput(1000);
  await sendPrompt(page, "Write a long story about a dragon and a castle.");
  await responses().first().waitFor({ timeout: 60_000 });
  await button("Stop").click();
  await page.getByText("Stopped.", { exact: true }).waitFor();
  expect((await responses().last().textContent()) ?? "").not.toBe("");
  await expect.poll(() => readGauge("hearth_requests_running"), { timeout: 10_000 }).toBe(0);
  await limitOutput(24);
  flows.push("stop");
});

async function readGauge(name: string): Promise<number> {
  const text = await (await fetch(`${fixture.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "mu").exec(text)?.[1]);
}

test("a response that is cut off keeps its text and says so, and an error suggests the next step", async () => {
  await mockChatResponse(page, { text: "Half of a resp", isCut: true });
  await page.getByRole("link", { name: "New chat" }).click();
  await sendPrompt(page, "Break");
  await page.getByText("The response was cut off").waitFor();
  expect(await responses().last().textContent()).toBe("Half of a resp");
  await page.unroute("**/api/chat");
  const error = 'model "gone" not found, try pulling it first';
  await mockChatResponse(page, {
    error: { status: 404, body: { error, code: "model-not-found", model: "gone" } },
  });
  await sendPrompt(page, "Fail");
  await page.getByText("Pull the model, or choose another one above.").waitFor();
  await page.route("**/api/pull", () => undefined);
  await button("Pull gone").click();
  await button("Pause gone").click();
  await button("Dismiss gone").click();
  await page.unroute("**/api/pull");
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await page.getByText("Pull the model, or choose another one above.").waitFor();
  flows.push("pull suggested and started from an error");
  await page.unroute("**/api/chat");
  await page.route("**/api/chat", (route) => route.abort());
  await sendPrompt(page, "Unreachable");
  await page.getByText("Start the server with hearth serve").waitFor();
  await page.unroute("**/api/chat");
  flows.push("cut off, failed and unreachable");
});

test("one chat is deleted, then all of them", async () => {
  const before = await page.locator(".chat-side li").count();
  await button(/^Delete chat Break/u).click();
  await expect.poll(() => page.locator(".chat-side li").count()).toBe(before - 1);
  await button("Delete all chats").click();
  await button("Delete all").click();
  await expect.poll(() => page.locator(".chat-side li").count()).toBe(0);
  await page.reload();
  await page.getByText("What's on your mind?").waitFor();
  expect(await page.locator(".chat-side li").count()).toBe(0);
  flows.push("chats deleted");
});

const modelName = (): string => `${new URL(registry.url).host}/team/tiny:latest`;

test("a model is pulled from a registry with progress, and its details are shown", async () => {
  await page.goto(`${fixture.url}/ui/models`);
  await page.getByLabel("Pull a model").fill(modelName());
  await page.getByLabel("Plain HTTP").check();
  await button("Pull").click();
  await page.getByText("Complete").waitFor();
  await button(`Details of ${modelName()}`).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Template").click();
  await expect.poll(() => dialog.textContent()).toMatch(/temperature/u);
  await dialog.getByRole("button", { name: "Close" }).click();
  flows.push("pull", "details");
});

test("a paused pull can be resumed, and a failed one says what is wrong", async () => {
  await page.route("**/api/pull", () => undefined);
  await page.getByLabel("Pull a model").fill("endless");
  await button("Pull").click();
  await button("Pause endless").click();
  await page.getByText("Paused").waitFor();
  await page.unroute("**/api/pull");
  await page.getByLabel("Pull a model").fill(`${new URL(registry.url).host}/team/nothing`);
  await button("Pull").click();
  await page.getByText("Check the name").waitFor();
  expect(await page.locator(".notice.error").count()).toBe(1);
  flows.push("pull paused and failed");
});

test("a model is deleted after confirmation", async () => {
  await button(`Delete ${modelName()}`).click();
  const dialog = page.getByRole("dialog", { name: `Delete ${modelName()}?` });
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await button(`Delete ${modelName()}`).count()).toBe(0);
  const { models } = JSON.parse(await (await fetch(`${fixture.url}/api/tags`)).text());
  expect(models).toHaveLength(1);
  flows.push("delete");
});

test("the charts update under load", async () => {
  await page.goto(`${fixture.url}/ui/live`);
  const chart = page.getByRole("img", { name: /^Tokens per second/u });
  await chart.waitFor();
  const still = await chart.screenshot();
  const load = ["One", "Two", "Three"].map((prompt) =>
    fetch(`${fixture.url}/api/generate`, {
      method: "POST",
      body: JSON.stringify({ model: "smol", prompt, stream: false, options: { num_predict: 120, seed: 1 } }),
    }).then((response) => response.text()),
  );
  const tile = (name: string) => page.locator(".tile", { hasText: name }).locator("dd");
  await expect.poll(async () => Number(await tile("Active requests").textContent())).toBeGreaterThan(0);
  await expect
    .poll(async () => Number(await tile("Tokens per second").textContent()), { timeout: 30_000 })
    .toBeGreaterThan(0);
  await page.getByText("smol:latest").waitFor();
  expect((await chart.screenshot()).equals(still)).toBe(false);
  expect(await chart.getAttribute("aria-label")).toMatch(/Tokens [1-9]/u);
  await Promise.all(load);
  flows.push("charts update under load");
});

test("a hidden tab does not poll", async () => {
  let polls = 0;
  page.on("request", (request) => (polls += Number(request.url().endsWith("/metrics"))));
  await expect.poll(() => polls, { timeout: 10_000 }).toBeGreaterThan(1);
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
  // One poll may be in progress.
  await page.waitForTimeout(1200);
  const before = polls;
  await page.waitForTimeout(2500);
  expect(polls).toBe(before);
  flows.push("hidden tab is quiet");
});

async function copySnippet(name: string): Promise<string> {
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

test("copied snippets run without changes, for every installed client", {
  timeout: 180_000,
}, async () => {
  await page.goto(`${fixture.url}/ui/connect`);
  await page.getByText("This server requires no API key").waitFor();
  await using folder = await makeTemporaryFolder("connect");
  const shell = await run("bash", ["-c", await copySnippet("curl")]);
  expect(JSON.parse(shell.stdout).message.content).not.toBe("");
  const outputs = new Map<string, Promise<string>>();
  for (const name of scripts) {
    const args = ["--input-type=module", "--eval", await copySnippet(name)];
    outputs.set(
      name,
      run(process.execPath, args, { cwd: root }).then(({ stdout }) => stdout),
    );
  }
  for (const [index, name] of pythonScripts.entries()) {
    const file = join(folder.path, `snippet-${index}.py`);
    await writeFile(file, await copySnippet(name));
    outputs.set(name, runPython(file));
  }
  for (const [name, text] of outputs) expect((await text).trim(), name).not.toBe("");
  clientsRun.push("curl", ...outputs.keys());
  flows.push("snippets copied and executed");
});

test("model output stays text: no script, no remote image, no unsafe link, no hidden text direction", async () => {
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
  await mockChatResponse(page, { text: hostile });
  await page.goto(`${fixture.url}/ui`);
  await sendPrompt(page, "Be hostile");
  await waitForEnd();
  const found = await page.evaluate(() => ({
    isBroken: "isBroken" in window,
    tags: document.querySelectorAll(".response :is(script, img, iframe, b, style, form)").length,
    links: [...document.querySelectorAll<HTMLAnchorElement>(".response a")].map(({ href, rel }) => [
      href,
      rel,
    ]),
    text: document.querySelector(".response")?.textContent ?? "",
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
  await mockChatResponse(page, { text: "x".repeat(1_000_000) });
  await sendPrompt(page, "One line of a megabyte");
  await page.getByText("800,000 more characters").waitFor();
  const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(tooWide).toBe(0);
  await page.unroute("**/api/chat");
  expect(watched.takeProblems()).toEqual([]);
  flows.push("hostile output is inert");
});

test("with a key, the browser asks for it once, the page works, and snippets use a variable", async () => {
  const key = "canary-page-key";
  await using locked = await startWebUi({
    models: { tiny: "tiny-llama.gguf" },
    key,
    browser: fixture.browser,
  });
  await expect(locked.open()).rejects.toThrow("ERR_INVALID_AUTH_CREDENTIALS");
  const context = { httpCredentials: { username: "anybody", password: key } };
  const user = await locked.open("/connect", context);
  await user.getByText("This server requires an API key").waitFor();
  await expect
    .poll(() => user.locator("figure.code").last().textContent())
    .toContain('ANTHROPIC_AUTH_TOKEN="$HEARTH_API_KEY"');
  await user.getByRole("button", { name: "curl", exact: true }).click();
  await expect
    .poll(() => user.locator("figure.code").last().textContent())
    .toContain("Bearer $HEARTH_API_KEY");
  await user.getByLabel("API key", { exact: true }).fill("pasted-key");
  await expect.poll(() => user.locator("figure.code").last().textContent()).toContain("Bearer pasted-key");
  expect(JSON.stringify(await user.context().storageState({ indexedDB: true }))).not.toContain("pasted-key");
  await user.goto(locked.url);
  await user.getByText("What's on your mind?").waitFor();
  expect(new URL(user.url()).pathname).toBe("/ui");
  await sendPrompt(user, "Hello");
  await user.getByRole("button", { name: "Stop" }).waitFor();
  await expect
    .poll(() => user.locator(".response .markdown, .response .thinking").count(), { timeout: 30_000 })
    .toBeGreaterThan(0);
  expect(await user.locator(".notice.error").count()).toBe(0);
  expect(locked.log()).not.toContain(key);
  flows.push("key by Basic");
});
