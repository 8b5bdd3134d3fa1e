import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { findFreePort, startModelRegistry, testModel } from "@hearth-and-keep/test-servers";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { seedRegistry } from "../transfers/seed-registry.ts";
import { startFakeChat } from "./fake-chat.ts";
import { runHearth } from "./run-hearth.ts";
import { openChatAt, openTerminal, type TerminalWindow } from "./terminal-window.ts";

const smolFile = "smollm2-135m-instruct-q4_1.gguf";
const neededFlows = 16;
let flows = 0;
let server: TestServer;

beforeAll(async () => {
  server = await startFakeChat();
});
afterEach(({ task }) => {
  if (task.result?.state === "pass") flows += 1;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  recordFigure({
    claim: "people 2",
    text: `${flows} of ${neededFlows} flows in a real terminal passed`,
    counted: { reached: flows, needed: neededFlows },
  });
});

const openChat = (columns = 80): Promise<TerminalWindow> => openChatAt({ url: server.url, columns });

/** Sends a message, and returns the screen after the response. */
async function send(window: TerminalWindow, message: string): Promise<string> {
  window.type(message);
  window.press("Enter");
  return window.waitFor(/\n\n>>>$/u);
}

/** The text between a message and the next prompt. */
function responseIn(screen: string, message: string): string {
  const start = screen.lastIndexOf(`>>> ${message}`) + `>>> ${message}`.length;
  return screen.slice(start, screen.lastIndexOf(">>>")).trim();
}

test("run starts a background server and reports it, chats with a real model, and stop --server stops it", {
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
    `Started a server at http://127.0.0.1:${port}, running in the background; stop it with "hearth stop --server"`,
  );
  // Sampling at a higher temperature would make the response vary.
  window.type("/set parameter temperature 0");
  window.press("Enter");
  await window.waitFor(/Set temperature to 0\s+>>>$/u);
  const prompt = "What is the capital of France? Answer with one word.";
  expect(responseIn(await send(window, prompt), prompt)).toMatch(/Paris/u);
  window.type("/bye");
  window.press("Enter");
  await window.waitFor(/\$$/u);
  window.type("clear; hearth logs -n 200 | grep -c 'POST /api/chat'; hearth stop --server; hearth list");
  window.press("Enter");
  const screen = await window.waitFor(/Cannot reach a server/u, 60);
  expect(screen).toMatch(/^1\nStopped the server at \S+\nCannot reach/mu);
});

test("Markdown is rendered as it streams: heading, emphasis, list, code, table, quote and wide characters", async () => {
  await using window = await openChat();
  expect(responseIn(await send(window, "markdown"), "markdown")).toBe(
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

test("escape sequences in a model's output have no effect and are made visible", async () => {
  await using window = await openChat();
  const screen = await send(window, "attack");
  expect(screen).toContain("Type /? for help, /bye to exit");
  expect(responseIn(screen, "attack")).toBe("␛]0;stolen␇␛[2Jred␛[31m and �esrever␍ gone");
});

test("thinking is folded into one line with its duration, and shown in full by /set think show", async () => {
  await using window = await openChat();
  window.type("think");
  window.press("Enter");
  await window.waitFor(/Thinking… \d words/u);
  await window.waitFor(/\n\n>>>$/u);
  expect(responseIn(window.read(), "think")).toMatch(/^Thought for \d\.\ds \(4 words\)\n\n42$/u);
  window.type("/set think show");
  window.press("Enter");
  await window.waitFor(/Thinking is shown\n>>>$/u);
  expect(responseIn(await send(window, "think"), "think")).toMatch(
    /^One two three four\nThought for \d\.\ds \(4 words\)\n\n42$/u,
  );
});

test("Ctrl-C stops the response but not the chat; twice at the prompt exits", async () => {
  await using window = await openChat();
  window.type("slow");
  window.press("Enter");
  await window.waitFor(/word5 /u);
  window.press("C-c");
  expect(await window.waitFor(/\(stopped\)\n\n>>>$/u)).not.toContain("word190");
  expect(responseIn(await send(window, "hello"), "hello")).toBe("Hello to you");
  window.press("C-c");
  await window.waitFor(/Press Ctrl-C again or Ctrl-D to exit\n>>>$/u);
  window.press("C-c");
  await window.waitFor(/\n\$$/u);
});

test("Ctrl-D exits the chat", async () => {
  await using window = await openChat();
  window.press("C-d");
  expect(await window.waitFor(/\n\$$/u)).not.toContain("Error");
});

test("a window that is made narrower during a response shows every word once", async () => {
  await using window = await openChat(100);
  window.type("steady");
  window.press("Enter");
  await window.waitFor(/part15 /u);
  window.resize(46, 24);
  await window.waitFor(/part59\n\n>>>$/u);
  const words = window.readAll().match(/part\d+/gu) ?? [];
  expect(words).toEqual(Array.from({ length: 60 }, (_, index) => `part${index}`));
});

test("arrow keys recall typed lines, also in the next chat; a line that starts with a space is not recorded", async () => {
  await using window = await openChat();
  await send(window, "hello once");
  await send(window, " hidden words");
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

test("triple quotes delimit a message of several lines, and pasted text is one message", async () => {
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

test("slash commands change, show, save and load a chat", async () => {
  await using window = await openChat();
  for (const [command, response] of [
    ["/set system You are terse", "System prompt set"],
    ["/set parameter temperature 0.25", "Set temperature to 0.25"],
    ["/show system", "You are terse"],
    ["/show parameters", "temperature {10}0.25"],
    ["/set verbose", "Verbose on"],
    ["/what", "Unknown command /what. Type /\\? for help"],
  ] as const) {
    window.type(command);
    window.press("Enter");
    await window.waitFor(new RegExp(`${response}[^>]*\\n>>>$`, "u"));
  }
  expect(await send(window, "hello")).toMatch(
    /Hello to you\nprompt \d+ tokens at \S+, output \d+ tokens at/u,
  );
  window.type("/save kept");
  window.press("Enter");
  await window.waitFor(/Saved; continue later with "hearth run kept"\n>>>$/u);
  window.type("/load nowhere");
  window.press("Enter");
  await window.waitFor(/Model "nowhere[^"]*" not found\nNext: run "hearth pull nowhere"/u);
  const shown = await runHearth(["show", "kept", "--system"], { environment: { HEARTH_HOST: server.url } });
  expect(shown.output).toBe("You are terse\n");
  expect((await runHearth(["remove", "kept"], { environment: { HEARTH_HOST: server.url } })).code).toBe(0);
});

test("an engine crash is reported with advice, and the chat continues", async () => {
  await using window = await openChat();
  window.type("die");
  window.press("Enter");
  expect(await window.waitFor(/>>>$/u)).toBeDefined();
  expect(await window.waitFor(/unexpectedly stopped/u)).toMatch(/Next: try again; run "hearth logs"/u);
  expect(responseIn(await send(window, "hello"), "hello")).toBe("Hello to you");
});

test("piped input is part of the prompt, and piped output is only the text", async () => {
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

test("without a terminal and without a prompt, run suggests what to do", async () => {
  const result = await runHearth(["run", "tiny"], { environment: { HEARTH_HOST: server.url } });
  expect(result.code).toBe(2);
  expect(result.errors).toMatch(
    /^Cannot start a chat: this is not a terminal.*\nNext: run hearth run tiny "your prompt"/u,
  );
});

test("colours appear only in a terminal; NO_COLOR turns them off and FORCE_COLOR on", async () => {
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

test("a pull shows progress bars, Ctrl-C keeps the data and says so, and the next pull reports where it resumes", {
  timeout: 60_000,
}, async () => {
  await using registry = await startModelRegistry();
  await seedRegistry(registry, { repository: "team/smol", file: await testModel(smolFile) });
  const name = `${new URL(registry.url).host}/team/smol`;
  await using slow = await startTestServer({
    models: {},
    privateRegistries: ["127.0.0.1"],
    transferLimits: { maxBytesPerSecond: 16e6 },
  });
  await using window = await openTerminal({ environment: { HEARTH_HOST: slow.url }, columns: 100 });
  window.type(`hearth pull ${name} --insecure`);
  window.press("Enter");
  await window.waitFor(/pulling [0-9a-f]{12} ▕█+ +▏ +\d+% +\d+ MB\/98 MB +\S+ MB\/s +\S+s/u);
  window.press("C-c");
  const interrupted = (await window.waitFor(/Next: [^$]*\n\$$/u)).replaceAll("\n", " ");
  expect(interrupted).toMatch(/Interrupted: \d+ MB of \d+ MB downloaded and kept/u);
  expect(interrupted).toContain(`Next: run "hearth pull ${name} --insecure" to resume`);
  window.type(`clear; hearth pull ${name} --insecure; echo code $?`);
  window.press("Enter");
  await window.waitFor(/resuming at \d+%/u);
  window.resize(50, 24);
  const done = await window.waitFor(/code 0/u, 40);
  expect(Math.max(...done.split("\n").map((line) => line.length))).toBeLessThan(50);
  expect(done).toMatch(/success/u);
});

test("without a terminal, a pull prints a few plain lines", { timeout: 60_000 }, async () => {
  await using registry = await startModelRegistry();
  await seedRegistry(registry, { repository: "team/tiny", file: await testModel("tiny-llama.gguf") });
  const name = `${new URL(registry.url).host}/team/tiny`;
  await using puller = await startTestServer({ models: {}, privateRegistries: ["127.0.0.1"] });
  const result = await runHearth(["pull", name, "--insecure"], { environment: { HEARTH_HOST: puller.url } });
  expect(result.code).toBe(0);
  const lines = result.output.trimEnd().split("\n");
  expect(lines.length).toBeLessThan(14);
  expect(lines[0]).toBe("pulling manifest");
  expect(lines.at(-1)).toBe("success");
  for (const character of ["\u001B", "\r", "█"]) expect(result.output).not.toContain(character);
});
