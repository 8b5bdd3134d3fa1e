import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { startFakeChat } from "./fake-chat.ts";
import { runHearth } from "./run-hearth.ts";
import { openChatAt, openTerminal, program, type TerminalWindow } from "./terminal-window.ts";

let server: TestServer;
/** Longer than the time within which lines count as pasted. */
const betweenKeysMilliseconds = 60;

beforeAll(async () => {
  server = await startFakeChat();
});
afterAll(() => server[Symbol.asyncDispose]());

const openChat = (args = "tiny", columns = 80, url = server.url): Promise<TerminalWindow> =>
  openChatAt({ url, args, columns });

/** Types a line, and waits for the response and the next prompt. */
async function enter(window: TerminalWindow, text: string, response: RegExp): Promise<string> {
  window.type(text);
  window.press("Enter");
  return window.waitFor(new RegExp(`${response.source}[^>]*\\n>>>$`, "u"));
}

const modelfileOf = async (model: string): Promise<string> =>
  (await runHearth(["show", model, "--modelfile"], { environment: { HEARTH_HOST: server.url } })).output;

const echoed = (text: string) => ({ code: 0, output: `You said: ${text}\n`, errors: "" });

const bob = "MESSAGE user My name is Bob.\nMESSAGE assistant You said: My name is Bob.\n";
const tea = "MESSAGE user I like tea.\nMESSAGE assistant You said: I like tea.\n";

test("a saved chat that is continued and saved again keeps every message once", async () => {
  await using window = await openChat();
  await enter(window, "My name is Bob.", /You said: My name is Bob\./u);
  await enter(window, "/save bob", /Saved/u);
  await enter(window, "/load bob", />>> My name is Bob\.\nYou said: My name is Bob\./u);
  await enter(window, "I like tea.", /You said: I like tea\./u);
  await enter(window, "/save bob2", /Saved/u);
  expect(await modelfileOf("bob2")).toContain(bob + tea);
  await enter(window, "/save bob", /Saved; continue later with "hearth run bob"/u);
  expect(await modelfileOf("bob")).toContain(bob + tea);
  // Messages that are now saved in the model are not sent a second time.
  const recited =
    "user=My name is Bob.; assistant=You said: My name is Bob.; user=I like tea.; assistant=You said: I like tea.; user=recite";
  const after = await enter(window, "recite", /user=recite/u);
  expect(after.replaceAll("\n", " ")).toContain(recited);
  window.press("C-d");
  await window.waitFor(/\n\$$/u);
  window.type("clear; hearth run bob");
  window.press("Enter");
  const opened = await window.waitFor(/to exit\n>>>$/u);
  expect(opened).toMatch(/^\(2 earlier messages\)\n>>> I like tea\.\nYou said: I like tea\.\n\n/u);
  expect((await enter(window, "recite", /user=recite/u)).replaceAll("\n", " ")).toContain(recited);
  await enter(window, "/clear", /settings and the 4 messages saved in bob kept/u);
}, 60_000);

/** The tokens of a conversation that consists of this prompt alone. */
async function countTokens(url: string, content: string): Promise<number> {
  const body = JSON.stringify({ model: "smol", messages: [{ role: "user", content }] });
  const response = await fetch(`${url}/alt/v1/messages/count_tokens`, { method: "POST", body });
  // The documented response of the endpoint.
  return ((await response.json()) as { readonly input_tokens: number }).input_tokens;
}

test("a real model remembers the messages of a saved chat", async () => {
  await using real = await startTestServer({ models: { smol } });
  await using window = await openChat("smol", 80, real.url);
  const outputTokens = 24;
  await enter(window, "/set parameter temperature 0", /Set temperature to 0/u);
  await enter(window, `/set parameter num_predict ${outputTokens}`, /Set num_predict to 24/u);
  await enter(window, "My name is Bob.", /\n/u);
  await enter(window, "/save bob", /Saved/u);
  window.press("C-d");
  await window.waitFor(/\n\$$/u);
  window.type("clear; hearth run bob");
  window.press("Enter");
  await window.waitFor(/>>> My name is Bob\.\n[\s\S]*to exit\n>>>$/u);
  await enter(window, "/set verbose", /\n/u);
  // What small weights say differs between processors, so the length of their prompt is the proof.
  const screen = await enter(window, "What is my name?", /prompt \d+ tokens/u);
  const promptTokens = Number(/prompt (\d+) tokens/u.exec(screen)?.[1]);
  expect(promptTokens).toBeGreaterThan((await countTokens(real.url, "What is my name?")) + outputTokens);
}, 60_000);

test("input typed during a response takes effect after it: lines are sent, editing keys edit, Ctrl-D exits", async () => {
  await using window = await openChat();
  window.type("steady");
  window.press("Enter");
  await window.waitFor(/part3 /u);
  for (const keys of ["second questions", "BSpace", "Left", "X", "Enter", "again", "Enter", "C-d"]) {
    if (/^[A-Z]\S/u.test(keys)) window.press(keys);
    else window.type(keys);
    await wait(betweenKeysMilliseconds);
  }
  const screen = await window.waitFor(/\n\$$/u);
  expect(screen).toContain(">>> second questioXn\nYou said: second questioXn\n");
  expect(screen).toContain(">>> again\nYou said: again\n");
  expect(screen).not.toMatch(/\^|␄|␡/u);
}, 30_000);

test("a paste is one message even if it arrives slowly, its control characters are ignored, and Enter sends it", async () => {
  await using window = await openChat();
  window.paste("one\ntwo\n");
  await window.waitFor(/>>> one\n\.\.\. two\n\.\.\.$/u);
  window.press("Enter");
  expect(await window.waitFor(/You said: one\s+two\n\n>>>$/u)).not.toContain("You said: two");
  // As over a slow connection: in two halves, with a marker split in two.
  window.type("\u001B[200~three\rfo");
  await wait(betweenKeysMilliseconds);
  window.type("ur\rfi\u0003ve\u001B[20");
  window.type("1~");
  await window.waitFor(/>>> three\n\.\.\. four\n\.\.\. five$/u);
  window.press("Enter");
  await window.waitFor(/You said: three\s+four\s+five\n\n>>>$/u);
});

test.each([undefined, "SIGTERM", "SIGHUP", "SIGINT"] as const)(
  "the terminal is restored after a chat that the user exits or a signal terminates: %s",
  async (signal) => {
    await using window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
    // The shell may enable bracketed paste itself.
    window.type("bind 'set enable-bracketed-paste off'; clear; hearth run tiny");
    const output = join(window.home, "output");
    window.record(output);
    window.press("Enter");
    await window.waitFor(/to exit\n>>>$/u);
    const shell = window.tmuxVariable("pane_pid");
    if (signal === undefined) window.press("C-d");
    else process.kill(Number(readFileSync(`/proc/${shell}/task/${shell}/children`, "utf8")), signal);
    await window.waitFor(/\n\$$/u);
    window.type("stty -a | grep -o ' -*icanon'");
    window.press("Enter");
    expect(await window.waitFor(/icanon\n\$$/u)).toMatch(/\n icanon\n\$$/u);
    const modeSwitches = (): string =>
      readFileSync(output, "utf8")
        .split("\u001B[?2004")
        .slice(1)
        .map((part) => part[0])
        .join("");
    // The recording lags behind, and may contain the mode switches of the shell, each of which is turned off as well.
    await expect.poll(modeSwitches).toMatch(/^l*(?:hl+)+$/u);
  },
);

test("a chat whose window is closed exits without an error message", async () => {
  await using window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
  // A terminal inside the terminal, which can be closed while the error output is kept.
  const chat = `'${process.execPath}' '${program}' run tiny 2> errors; echo exited >> errors`;
  window.type(`script -qc "trap '' HUP; ${chat}" /dev/null`);
  window.press("Enter");
  await window.waitFor(/>>>$/u);
  const shell = window.tmuxVariable("pane_pid");
  process.kill(Number(readFileSync(`/proc/${shell}/task/${shell}/children`, "utf8")), "SIGKILL");
  await expect
    .poll(() => readFileSync(join(window.home, "errors"), "utf8"), { timeout: 10_000 })
    .toBe("exited\n");
});

test("a system prompt may have several lines; an empty one removes it", async () => {
  await using window = await openChat();
  window.type('/set system """You are a pirate.');
  window.press("Enter");
  await window.waitFor(/\n\.\.\.$/u);
  await enter(window, 'Be brief."""', /System prompt set/u);
  await enter(window, "/show system", /\nYou are a pirate\.\nBe brief\./u);
  expect(await enter(window, "recite", /user=recite/u)).toMatch(
    /system=You are a pirate\.\nBe brief\.; user=/u,
  );
  await enter(window, "/set system", /System prompt removed/u);
  await enter(window, "/clear", /History cleared; settings kept/u);
  expect(await enter(window, "recite", /user=recite/u)).toMatch(/>>> recite\nuser=recite\n\n>>>$/u);
});

test("an unknown parameter or an invalid value is rejected with a correction", async () => {
  await using window = await openChat();
  for (const [assignment, message] of [
    ["foo 3", "Cannot set foo to 3: unknown parameter; the parameters are temperature, top_k,"],
    ["temprature 1", "Cannot set temprature to 1: unknown parameter; did you mean temperature?"],
    ["temperature hot", "Cannot set temperature to hot: it must be a number from 0 to 100"],
    ["mirostat 1", "mirostat is obsolete and has no effect"],
    ['stop "a b" "c"', 'Set stop to "a b" "c"'],
  ] as const) {
    window.type(`/set parameter ${assignment}`);
    window.press("Enter");
    await expect.poll(() => window.read().replaceAll("\n", " ")).toContain(message);
  }
  await enter(window, "/show parameters", /set in this chat:\n {2}stop +\["a b","c"\]/u);
  await enter(window, "hello", /Hello to you/u);
});

test("--think and --image do not consume the prompt, and an empty prompt only loads the model", async () => {
  const environment = { HEARTH_HOST: server.url };
  const run = (...args: readonly string[]) => runHearth(["run", ...args], { environment });
  expect(await run("tiny", "--think", "Why is it so?")).toEqual(echoed("Why is it so?"));
  expect(await run("--think", "tiny", "Why?")).toEqual(echoed("Why?"));
  expect(await run("tiny", "--think", "low", "Why?")).toEqual(echoed("Why?"));
  expect(await run("tiny", "--think=false", "low", "tide")).toEqual(echoed("low tide"));
  expect((await run("tiny", "--image", "cat.png", "What is this?")).errors).toContain(
    "tiny does not support images",
  );
  const before = server.logRecords().filter(({ route }) => route === "POST /api/chat").length;
  expect(await run("tiny", "")).toEqual({ code: 0, output: "", errors: "" });
  expect(server.logRecords().at(-1)).toMatchObject({ route: "POST /api/generate", status: 200 });
  expect(server.logRecords().filter(({ route }) => route === "POST /api/chat").length).toBe(before);
});

test("without word wrap a response is printed as the model writes it, and still sanitized", async () => {
  await using window = await openChat("tiny --nowordwrap", 40);
  expect(await enter(window, "markdown", /fruit/u)).toContain(
    "Some are **sweet**, some are *sour*; `ea\nt()` them.",
  );
  expect(await enter(window, "attack", /esrever/u)).toContain("␛]0;stolen␇␛[2Jred");
  await enter(window, "/set wordwrap", /Markdown rendering and word wrap on/u);
  expect(await enter(window, "markdown", /fruit/u)).toContain("Some are sweet, some are sour; eat()\nthem.");
});
