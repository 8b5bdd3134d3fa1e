import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { findFreePort, startModelRegistry, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { fillRegistry } from "../transfers/fill-registry.ts";
import { startScriptedChat } from "./fake-chat.ts";
import { runHearth } from "./run-hearth.ts";
import { openChatAt, openTerminal, type TerminalWindow } from "./terminal-window.ts";

const smolFile = "smollm2-135m-instruct-q4_1.gguf";
const neededFlows = 16;
let flows = 0;
let server: TestServer;

beforeAll(async () => {
  server = await startScriptedChat();
});
afterEach(({ task }) => {
  if (task.result?.state === "pass") flows += 1;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 2",
    text: `${flows} of ${neededFlows} flows in a real terminal show what they should`,
    counted: { reached: flows, needed: neededFlows },
  });
});

const openChat = (columns = 80): Promise<TerminalWindow> => openChatAt({ url: server.url, columns });

async function ask(window: TerminalWindow, question: string): Promise<string> {
  window.type(question);
  window.press("Enter");
  return window.waitFor(/\n\n>>>$/u);
}

/** What stands between the question and the next prompt. */
function answerIn(screen: string, question: string): string {
  const start = screen.lastIndexOf(`>>> ${question}`) + `>>> ${question}`.length;
  return screen.slice(start, screen.lastIndexOf(">>>")).trim();
}

test("run starts a server when none runs, says so, chats with real weights, and stop ends the server", {
  timeout: 90_000,
}, async () => {
  const port = String(await findFreePort());
  await using window = await openTerminal({ environment: { HEARTH_PORT: port, HEARTH_THREADS: "1" } });
  await mkdir(join(window.home, ".hearth"), { recursive: true });
  const from = await testModel(smolFile);
  window.type(`hearth create smol --from ${from}; clear; hearth run smol`);
  window.press("Enter");
  const opened = await window.waitFor(/>>>$/u, 60);
  expect(opened.replaceAll(/\s+/gu, " ")).toContain(
    `Started a server at http://127.0.0.1:${port}; it stays: hearth stop --server ends it`,
  );
  // Without chance, or one time in many it says something else.
  window.type("/set parameter temperature 0");
  window.press("Enter");
  await window.waitFor(/temperature is 0\s+>>>$/u);
  const question = "What is the capital of France? Answer with one word.";
  expect(answerIn(await ask(window, question), question)).toMatch(/Paris/u);
  window.type("/bye");
  window.press("Enter");
  await window.waitFor(/\$$/u);
  window.type("clear; hearth logs -n 200 | grep -c 'POST /api/chat'; hearth stop --server; hearth list");
  window.press("Enter");
  const ended = await window.waitFor(/Cannot reach a server/u, 60);
  expect(ended).toMatch(/^1\nThe server at \S+ has ended\nCannot reach/mu);
});

test("Markdown is drawn as it comes: heading, emphasis, list, code, table, quotation and wide letters", async () => {
  await using window = await openChat();
  expect(answerIn(await ask(window, "markdown"), "markdown")).toBe(
    [
      "Fruit",
      "",
      "Some are sweet, some are sour; eat() them.",
      "",
      "1. apple",
      "2. 苹果 and 🍎",
      "",
      "  │ const taste = 1;",
      "",
      "name │ kg",
      "─────┼───",
      "plum │ 2",
      "",
      "│ See the list (https://fruit.example/).",
    ].join("\n"),
  );
});

test("sequences in a model's text move, clear, colour and retitle nothing, and are seen", async () => {
  await using window = await openChat();
  const screen = await ask(window, "attack");
  expect(screen).toContain("/? tells what can be typed");
  expect(answerIn(screen, "attack")).toBe("␛]0;stolen␇␛[2Jred␛[31m and �esrever␍ gone");
});

test("thinking is one line that tells how long it took; shown whole when asked", async () => {
  await using window = await openChat();
  window.type("think");
  window.press("Enter");
  await window.waitFor(/Thinking… \d words/u);
  await window.waitFor(/\n\n>>>$/u);
  expect(answerIn(window.read(), "think")).toMatch(/^Thought for \d\.\ds \(4 words\)\n\n42$/u);
  window.type("/set think show");
  window.press("Enter");
  await window.waitFor(/Thinking is shown\n>>>$/u);
  expect(answerIn(await ask(window, "think"), "think")).toMatch(
    /^One two three four\nThought for \d\.\ds \(4 words\)\n\n42$/u,
  );
});

test("Ctrl-C stops the answer and not the chat; twice at the prompt it leaves", async () => {
  await using window = await openChat();
  window.type("slow");
  window.press("Enter");
  await window.waitFor(/word5 /u);
  window.press("C-c");
  expect(await window.waitFor(/\(stopped\)\n\n>>>$/u)).not.toContain("word190");
  expect(answerIn(await ask(window, "hello"), "hello")).toBe("Hello to you");
  window.press("C-c");
  await window.waitFor(/Ctrl-C once more, or Ctrl-D, leaves\n>>>$/u);
  window.press("C-c");
  await window.waitFor(/\n\$$/u);
});

test("Ctrl-D leaves", async () => {
  await using window = await openChat();
  window.press("C-d");
  expect(await window.waitFor(/\n\$$/u)).not.toContain("Error");
});

test("a window made narrower while an answer comes shows every word once", async () => {
  await using window = await openChat(100);
  window.type("steady");
  window.press("Enter");
  await window.waitFor(/part15 /u);
  window.resize(46, 24);
  await window.waitFor(/part59\n\n>>>$/u);
  const words = window.readAll().match(/part\d+/gu) ?? [];
  expect(words).toEqual(Array.from({ length: 60 }, (_, index) => `part${index}`));
});

test("typed lines come back by the arrow keys, in the next chat too; one that starts with a space does not", async () => {
  await using window = await openChat();
  await ask(window, "hello once");
  await ask(window, " hidden words");
  window.type("/bye");
  window.press("Enter");
  await window.waitFor(/\n\$$/u);
  const file = join(window.home, ".hearth", "history");
  expect(await readFile(file, "utf8")).toBe("hello once\n/bye\n");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  window.type("clear; hearth run tiny");
  window.press("Enter");
  await window.waitFor(/>>>$/u);
  window.press("Up", "Up");
  await window.waitFor(/>>> hello once$/u);
  window.press("C-a", "C-k");
  window.type("hello edit");
  window.press("Left", "Left", "Left", "Left", "C-k");
  window.type("again");
  window.press("Enter");
  expect(await window.waitFor(/\n\n>>>$/u)).toContain(">>> hello again");
});

test("three quotes begin a text of several lines, and what is pasted is one message", async () => {
  await using window = await openChat();
  window.type('"""first');
  window.press("Enter");
  await window.waitFor(/\.\.\.$/u);
  window.type('second"""');
  window.press("Enter");
  const screen = await window.waitFor(/\n\n>>>$/u);
  expect(screen).toMatch(/You said: first\s*\n?\s*second/u);
  window.type("one\ntwo\n");
  expect(await window.waitFor(/You said: one\s+two\n\n>>>$/u)).not.toContain("You said: two");
});

test("the chat is changed on the fly, shown, saved and loaded", async () => {
  await using window = await openChat();
  for (const [words, answer] of [
    ["/set system You are terse", "The model is told this from now on"],
    ["/set parameter temperature 0.25", "temperature is 0.25"],
    ["/show system", "You are terse"],
    ["/show parameters", "temperature {10}0.25"],
    ["/set verbose", "Speed is told after each answer"],
    ["/what", "There is no /what. /\\? tells what can be typed"],
  ] as const) {
    window.type(words);
    window.press("Enter");
    await window.waitFor(new RegExp(`${answer}[^>]*\\n>>>$`, "u"));
  }
  expect(await ask(window, "hello")).toMatch(/Hello to you\nread \d+ tokens at \S+, wrote \d+ tokens at/u);
  window.type("/save kept");
  window.press("Enter");
  await window.waitFor(/Saved; hearth run kept goes on from here\n>>>$/u);
  window.type("/load nowhere");
  window.press("Enter");
  await window.waitFor(/There is no model "nowhere:latest" on the server\nNext: hearth list/u);
  const shown = await runHearth(["show", "kept", "--system"], { environment: { HEARTH_HOST: server.url } });
  expect(shown.output).toBe("You are terse\n");
  expect((await runHearth(["remove", "kept"], { environment: { HEARTH_HOST: server.url } })).code).toBe(0);
});

test("an engine that dies is told with what to do, and the chat goes on", async () => {
  await using window = await openChat();
  window.type("die");
  window.press("Enter");
  expect(await window.waitFor(/>>>$/u)).toBeDefined();
  expect(await window.waitFor(/unexpectedly stopped/u)).toMatch(/Next: try again; hearth logs/u);
  expect(answerIn(await ask(window, "hello"), "hello")).toBe("Hello to you");
});

test("what was piped in is read, and into a pipe goes the text alone", async () => {
  await using window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
  window.type("echo markdown | hearth run tiny | cat -v");
  window.press("Enter");
  expect(await window.waitFor(/fruit\.example/u)).toContain(
    "Some are **sweet**, some are *sour*; `eat()` them.",
  );
  const environment = { HEARTH_HOST: server.url, HOME: window.home };
  const both = await runHearth(["run", "tiny", "what", "now"], { environment, input: "a file\n" });
  expect(both).toEqual({ code: 0, output: "You said: a file\n\nwhat now\n", errors: "" });
});

test("without a terminal and without a question, run says what to do", async () => {
  const ended = await runHearth(["run", "tiny"], { environment: { HEARTH_HOST: server.url } });
  expect(ended.code).toBe(2);
  expect(ended.errors).toMatch(
    /^Cannot chat here: this is no terminal.*\nNext: hearth run tiny "your question"/u,
  );
});

test("colours are in a terminal alone; NO_COLOR turns them off and FORCE_COLOR on", async () => {
  const environment = { HEARTH_HOST: server.url };
  const colour = new RegExp(RegExp.escape("\u001B["), "u");
  expect((await runHearth(["show", "tiny"], { environment })).output).not.toMatch(colour);
  const forced = await runHearth(["show", "tiny"], { environment: { ...environment, FORCE_COLOR: "1" } });
  expect(forced.output).toMatch(colour);
  for (const [extra, isColoured] of [
    [{}, true],
    [{ NO_COLOR: "1" }, false],
  ] as const) {
    await using window = await openTerminal({ environment: { ...environment, ...extra } });
    window.type("hearth show tiny");
    window.press("Enter");
    await window.waitFor(/Capabilities[\s\S]*\n\$$/u);
    expect(colour.test(window.readColours())).toBe(isColoured);
  }
});

test("a pull shows bars, Ctrl-C keeps what came and says so, and the next one tells where it resumes", {
  timeout: 60_000,
}, async () => {
  await using registry = await startModelRegistry();
  await fillRegistry(registry, { repository: "team/smol", file: await testModel(smolFile) });
  const name = `${new URL(registry.url).host}/team/smol`;
  await using slow = await startTestServer({
    models: {},
    privateRegistries: ["127.0.0.1"],
    transferLimits: { bytesPerSecond: 16e6 },
  });
  await using window = await openTerminal({ environment: { HEARTH_HOST: slow.url }, columns: 100 });
  window.type(`hearth pull ${name} --insecure`);
  window.press("Enter");
  await window.waitFor(/pulling [0-9a-f]{12} ▕█+ +▏ +\d+% +\d+ MB\/98 MB +\S+ MB\/s +\S+s/u);
  window.press("C-c");
  const left = (await window.waitFor(/Next: [^$]*\n\$$/u)).replaceAll("\n", " ");
  expect(left).toMatch(/Stopped: \d+ MB of \d+ MB are here and are kept/u);
  expect(left).toContain(`Next: hearth pull ${name} --insecure goes on from there`);
  window.type(`clear; hearth pull ${name} --insecure; echo code $?`);
  window.press("Enter");
  await window.waitFor(/resuming at \d+%/u);
  window.resize(50, 24);
  const done = await window.waitFor(/code 0/u, 40);
  expect(Math.max(...done.split("\n").map((line) => line.length))).toBeLessThan(50);
  expect(done).toMatch(/success/u);
});

test("without a terminal a pull prints few plain lines", { timeout: 60_000 }, async () => {
  await using registry = await startModelRegistry();
  await fillRegistry(registry, { repository: "team/tiny", file: await testModel("tiny-llama.gguf") });
  const name = `${new URL(registry.url).host}/team/tiny`;
  await using taker = await startTestServer({ models: {}, privateRegistries: ["127.0.0.1"] });
  const ended = await runHearth(["pull", name, "--insecure"], { environment: { HEARTH_HOST: taker.url } });
  expect(ended.code).toBe(0);
  const lines = ended.output.trimEnd().split("\n");
  expect(lines.length).toBeLessThan(14);
  expect(lines[0]).toBe("pulling manifest");
  expect(lines.at(-1)).toBe("success");
  for (const sign of ["\u001B", "\r", "█"]) expect(ended.output).not.toContain(sign);
});
