import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  byteSizeSetting,
  choiceSetting,
  durationSetting,
  listSetting,
  readSettings,
  SettingsError,
  secretSetting,
  switchSetting,
  textSetting,
  wholeNumberSetting,
} from "./index.ts";

const declared = {
  host: textSetting({ placeholder: "host", fallback: "here", mostCharacters: 10, meaning: "where" }),
  port: wholeNumberSetting({ placeholder: "port", fallback: 80, least: 0, most: 100, meaning: "door" }),
  apiKey: secretSetting({ placeholder: "key", mostCharacters: 20, meaning: "secret" }),
  logLevel: choiceSetting({
    placeholder: "level",
    fallback: "info",
    choices: ["info", "debug"],
    meaning: "talk",
  }),
  isOpen: switchSetting({ meaning: "open" }),
  friends: listSetting({
    placeholder: "names",
    mostItems: 3,
    check: (item) => (item.includes(" ") ? "has a space" : undefined),
    meaning: "who",
  }),
  patience: durationSetting({ placeholder: "time", fallback: 300, fallbackText: "5m", meaning: "wait" }),
  room: byteSizeSetting({ placeholder: "size", fallbackText: "all", meaning: "space" }),
} as const;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "settings-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function read(sources: { flags?: object; environment?: Record<string, string>; filePath?: string }) {
  return readSettings(declared, {
    prefix: "PROGRAM",
    flags: { ...sources.flags },
    environment: sources.environment ?? {},
    filePath: sources.filePath,
  });
}

function mistakesOf(sources: Parameters<typeof read>[0]): readonly string[] {
  try {
    read(sources);
  } catch (problem) {
    if (problem instanceof SettingsError) return problem.mistakes;
    throw problem;
  }
  return [];
}

test("what nobody sets has its default, and the result cannot be changed", () => {
  const values = read({});
  expect(values).toEqual({
    host: "here",
    port: 80,
    apiKey: undefined,
    logLevel: "info",
    isOpen: false,
    friends: [],
    patience: 300,
    room: undefined,
  });
  expect(Object.isFrozen(values)).toBe(true);
});

test("flags win over the environment, the environment over the file, the file over the default", () => {
  const filePath = fileWith("order.toml", 'host = "file"\nport = 3\nlog_level = "debug"\nis_open = true\n');
  const environment = { PROGRAM_HOST: "env", PROGRAM_PORT: "2" };
  expect(read({ flags: { host: "flag" }, environment, filePath })).toMatchObject({
    host: "flag",
    port: 2,
    logLevel: "debug",
    isOpen: true,
  });
});

test("a secret may come from a file named in the environment, and prints as hidden", () => {
  const values = read({ environment: { PROGRAM_API_KEY_FILE: fileWith("key", "canary-1\n") } });
  expect(values.apiKey?.reveal()).toBe("canary-1");
  expect(JSON.stringify(values)).not.toContain("canary-1");
});

test("all mistakes are reported together, each naming where it was written", () => {
  const filePath = fileWith("wrong.toml", 'colour = "red"\nhost = [1]\n');
  const mistakes = mistakesOf({
    flags: { port: "eighty" },
    environment: { PROGRAM_LOG_LEVEL: "loud" },
    filePath,
  });
  expect(mistakes).toEqual([
    `${filePath}: there is no setting named "colour"`,
    `${filePath}: host must be a single value`,
    '--port must be a whole number from 0 to 100, not "eighty"',
    'PROGRAM_LOG_LEVEL must be one of info, debug, not "loud"',
  ]);
});

test.each([
  ["a number above its bound", { flags: { port: "101" } }, "from 0 to 100"],
  ["a number with a sign", { flags: { port: "-1" } }, "from 0 to 100"],
  ["an empty text", { flags: { host: "" } }, "must not be empty"],
  ["a text over its bound", { flags: { host: "x".repeat(11) } }, "at most 10 characters"],
  ["a file that is not there", { filePath: "/nowhere/at/all.toml" }, "--config cannot be read"],
  [
    "a secret file that is not there",
    { environment: { PROGRAM_API_KEY_FILE: "/nowhere" } },
    "cannot be read",
  ],
  [
    "a switch that is neither yes nor no",
    { environment: { PROGRAM_IS_OPEN: "perhaps" } },
    "must be yes or no",
  ],
])("%s is refused in words", (_what, sources, words) => {
  expect(mistakesOf(sources).join("\n")).toContain(words);
});

test("a list is written with commas anywhere, and as a list in the file", () => {
  expect(read({}).friends).toEqual([]);
  expect(read({ flags: { friends: "ann, bob" } }).friends).toEqual(["ann", "bob"]);
  expect(read({ filePath: fileWith("list.toml", 'friends = ["ann", "bob"]\n') }).friends).toEqual([
    "ann",
    "bob",
  ]);
  expect(mistakesOf({ filePath: fileWith("numbers.toml", "friends = [1, 2]\n") })).toEqual([
    expect.stringContaining("friends must be a list of texts"),
  ]);
});

test.each([
  ["90", 90],
  ["30s", 30],
  ["5m", 300],
  ["2h", 7200],
  ["1d", 86_400],
  ["0", 0],
  ["-1", "forever"],
  ["forever", "forever"],
])("a time of %s is understood", (text, seconds) => {
  expect(read({ flags: { patience: text } }).patience).toBe(seconds);
});

test.each([
  ["800MB", 800e6],
  ["12GiB", 12 * 2 ** 30],
  ["1.5 GB", 1.5e9],
])("a size of %s is understood", (text, bytes) => {
  expect(read({ flags: { room: text } }).room).toBe(bytes);
});

test.each([
  ["a list that is too long", { friends: "a,b,c,d" }, "must have at most 3 entries"],
  ["a list with an empty entry", { friends: "a,,b" }, "must not be empty"],
  ["a list with an entry that is wrong", { friends: "ann,b b" }, 'has an entry that has a space: "b b"'],
  ["a time in words", { patience: "soon" }, "must be a time such as 30s"],
  ["a time with two units", { patience: "1h30m" }, "must be a time such as 30s"],
  ["a size without a unit", { room: "12" }, "must be a size such as 800MB"],
  ["a size below nothing", { room: "-1GB" }, "must be a size such as 800MB"],
])("%s is refused in words", (_what, flags, words) => {
  expect(mistakesOf({ flags }).join("\n")).toContain(words);
});
