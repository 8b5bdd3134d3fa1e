import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  choiceSetting,
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
  expect(values).toEqual({ host: "here", port: 80, apiKey: undefined, logLevel: "info", isOpen: false });
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
