import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { startScriptedChat } from "./fake-chat.ts";
import { runHearth } from "./run-hearth.ts";
import { openChatAt, openTerminal, program, type TerminalWindow } from "./terminal-window.ts";

let server: TestServer;
/** Longer than lines take that are taken for pasted. */
const betweenKeysMilliseconds = 60;

beforeAll(async () => {
  server = await startScriptedChat();
});
afterAll(() => server[Symbol.asyncDispose]());

const openChat = (words = "tiny", columns = 80, url = server.url): Promise<TerminalWindow> =>
  openChatAt({ url, words, columns });

/** Types a line, and waits until the prompt is back. */
async function enter(window: TerminalWindow, text: string, answer: RegExp): Promise<string> {
  window.type(text);
  window.press("Enter");
  return window.waitFor(new RegExp(`${answer.source}[^>]*\\n>>>$`, "u"));
}

const modelfileOf = async (model: string): Promise<string> =>
  (await runHearth(["show", model, "--modelfile"], { environment: { HEARTH_HOST: server.url } })).output;

const answered = (text: string) => ({ code: 0, output: `You said: ${text}\n`, errors: "" });

const bob = "MESSAGE user My name is Bob.\nMESSAGE assistant You said: My name is Bob.\n";
const tea = "MESSAGE user I like tea.\nMESSAGE assistant You said: I like tea.\n";

test("a saved chat that is gone on with and saved again keeps what was said before, once", async () => {
  await using window = await openChat();
  await enter(window, "My name is Bob.", /You said: My name is Bob\./u);
  await enter(window, "/save bob", /Saved/u);
  await enter(window, "/load bob", />>> My name is Bob\.\nYou said: My name is Bob\./u);
  await enter(window, "I like tea.", /You said: I like tea\./u);
  await enter(window, "/save bob2", /Saved/u);
  expect(await modelfileOf("bob2")).toContain(bob + tea);
  await enter(window, "/save bob", /Saved; hearth run bob goes on from here/u);
  expect(await modelfileOf("bob")).toContain(bob + tea);
  // What became the model's own is not said a second time.
  const recited =
    "user=My name is Bob.; assistant=You said: My name is Bob.; user=I like tea.; assistant=You said: I like tea.; user=recite";
  const after = await enter(window, "recite", /user=recite/u);
  expect(after.replaceAll("\n", " ")).toContain(recited);
  window.press("C-d");
  await window.waitFor(/\n\$$/u);
  window.type("clear; hearth run bob");
  window.press("Enter");
  const opened = await window.waitFor(/leaves\n>>>$/u);
  expect(opened).toMatch(/^\(2 earlier messages\)\n>>> I like tea\.\nYou said: I like tea\.\n\n/u);
  expect((await enter(window, "recite", /user=recite/u)).replaceAll("\n", " ")).toContain(recited);
  await enter(window, "/clear", /and so do the 4 messages that bob was/u);
}, 60_000);

test("real weights know from a saved chat what was said in it", async () => {
  await using real = await startTestServer({ models: { smol } });
  await using window = await openChat("smol", 80, real.url);
  // Without chance, or one time in many it says something else.
  await enter(window, "/set parameter temperature 0", /temperature is 0/u);
  await enter(window, "/set parameter num_predict 24", /num_predict is 24/u);
  await enter(window, "My name is Bob.", /\n/u);
  await enter(window, "/save bob", /Saved/u);
  window.press("C-d");
  await window.waitFor(/\n\$$/u);
  window.type("clear; hearth run bob");
  window.press("Enter");
  await window.waitFor(/>>> My name is Bob\.\n[\s\S]*leaves\n>>>$/u);
  expect(await enter(window, "What is my name?", /name\?\n/u)).toMatch(/name\?\n[^>]*Bob/u);
}, 60_000);

test("what is typed while an answer comes is typed afterwards: lines end, editing keys edit, Ctrl-D leaves", async () => {
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

test("a paste is one message however slowly it comes, presses no keys, and is sent by Enter", async () => {
  await using window = await openChat();
  window.paste("one\ntwo\n");
  await window.waitFor(/>>> one\n\.\.\. two\n\.\.\.$/u);
  window.press("Enter");
  expect(await window.waitFor(/You said: one\s+two\n\n>>>$/u)).not.toContain("You said: two");
  // As over a slow line: in halves, a mark broken in two.
  window.type("\u001B[200~three\rfo");
  await wait(betweenKeysMilliseconds);
  window.type("ur\rfi\u0003ve\u001B[20");
  window.type("1~");
  await window.waitFor(/>>> three\n\.\.\. four\n\.\.\. five$/u);
  window.press("Enter");
  await window.waitFor(/You said: three\s+four\s+five\n\n>>>$/u);
});

test.each([undefined, "SIGTERM", "SIGHUP", "SIGINT"] as const)(
  "the terminal is as it was after a chat that a person leaves, or that ends by a signal: %s",
  async (signal) => {
    await using window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
    // A shell may ask for marks itself while it waits for a line.
    window.type("bind 'set enable-bracketed-paste off'; clear; hearth run tiny");
    const output = join(window.home, "output");
    window.record(output);
    window.press("Enter");
    await window.waitFor(/leaves\n>>>$/u);
    const shell = window.knows("pane_pid");
    if (signal === undefined) window.press("C-d");
    else process.kill(Number(readFileSync(`/proc/${shell}/task/${shell}/children`, "utf8")), signal);
    await window.waitFor(/\n\$$/u);
    window.type("stty -a | grep -o ' -*icanon'");
    window.press("Enter");
    expect(await window.waitFor(/icanon\n\$$/u)).toMatch(/\n icanon\n\$$/u);
    const marks = (): string =>
      readFileSync(output, "utf8")
        .split("\u001B[?2004")
        .slice(1)
        .map((part) => part[0])
        .join("");
    // The record comes a little later, and the shell's own marks, each ended as well, may be in it.
    await expect.poll(marks).toMatch(/^l*(?:hl+)+$/u);
  },
);

test("a chat whose window is closed ends without a word", async () => {
  await using window = await openTerminal({ environment: { HEARTH_HOST: server.url } });
  // A terminal inside the terminal, which can be closed while what the program complains of is kept.
  const chat = `'${process.execPath}' '${program}' run tiny 2> errors; echo ended >> errors`;
  window.type(`script -qc "trap '' HUP; ${chat}" /dev/null`);
  window.press("Enter");
  await window.waitFor(/>>>$/u);
  const shell = window.knows("pane_pid");
  process.kill(Number(readFileSync(`/proc/${shell}/task/${shell}/children`, "utf8")), "SIGKILL");
  await expect
    .poll(() => readFileSync(join(window.home, "errors"), "utf8"), { timeout: 10_000 })
    .toBe("ended\n");
});

test("a system text may have several lines; an empty one is the model's own again", async () => {
  await using window = await openChat();
  window.type('/set system """You are a pirate.');
  window.press("Enter");
  await window.waitFor(/\n\.\.\.$/u);
  await enter(window, 'Be brief."""', /The model is told this from now on/u);
  await enter(window, "/show system", /\nYou are a pirate\.\nBe brief\./u);
  expect(await enter(window, "recite", /user=recite/u)).toMatch(
    /system=You are a pirate\.\nBe brief\.; user=/u,
  );
  await enter(window, "/set system", /The model is told nothing beforehand/u);
  await enter(window, "/clear", /Forgotten/u);
  expect(await enter(window, "recite", /user=recite/u)).toMatch(/>>> recite\nuser=recite\n\n>>>$/u);
});

test("a parameter that does not exist, or has another kind of value, is refused with what would be right", async () => {
  await using window = await openChat();
  for (const [words, told] of [
    ["foo 3", "Cannot set foo to 3: there is no such parameter; there are temperature, top_k,"],
    ["temprature 1", "Cannot set temprature to 1: there is no such parameter; perhaps temperature is meant"],
    ["temperature hot", "Cannot set temperature to hot: it must be a number from 0 to 100"],
    ["mirostat 1", "mirostat changes nothing any more"],
    ['stop "a b" "c"', 'stop is "a b" "c"'],
  ] as const) {
    window.type(`/set parameter ${words}`);
    window.press("Enter");
    await expect.poll(() => window.read().replaceAll("\n", " ")).toContain(told);
  }
  expect(await enter(window, "/show parameters", /stop/u)).toMatch(
    /set in this chat:\n {2}stop +\["a b","c"\]\n>>>$/u,
  );
  await enter(window, "hello", /Hello to you/u);
});

test("--think and --image leave the question alone, and a question of nothing only loads the model", async () => {
  const environment = { HEARTH_HOST: server.url };
  const ask = (...words: readonly string[]) => runHearth(["run", ...words], { environment });
  expect(await ask("tiny", "--think", "Why is it so?")).toEqual(answered("Why is it so?"));
  expect(await ask("--think", "tiny", "Why?")).toEqual(answered("Why?"));
  expect(await ask("tiny", "--think", "low", "Why?")).toEqual(answered("Why?"));
  expect(await ask("tiny", "--think=false", "low", "tide")).toEqual(answered("low tide"));
  expect((await ask("tiny", "--image", "cat.png", "What is this?")).errors).toContain("it does not see");
  const before = server.logged().filter(({ route }) => route === "POST /api/chat").length;
  expect(await ask("tiny", "")).toEqual({ code: 0, output: "", errors: "" });
  expect(server.logged().at(-1)).toMatchObject({ route: "POST /api/generate", status: 200 });
  expect(server.logged().filter(({ route }) => route === "POST /api/chat").length).toBe(before);
});

test("without word wrap an answer stands as the model writes it, and is still made safe", async () => {
  await using window = await openChat("tiny --nowordwrap", 40);
  expect(await enter(window, "markdown", /fruit/u)).toContain(
    "Some are **sweet**, some are *sour*; `ea\nt()` them.",
  );
  expect(await enter(window, "attack", /esrever/u)).toContain("␛]0;stolen␇␛[2Jred");
  await enter(window, "/set wordwrap", /Answers are drawn/u);
  expect(await enter(window, "markdown", /fruit/u)).toContain("Some are sweet, some are sour; eat()\nthem.");
});
