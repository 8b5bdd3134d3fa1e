import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  booleanSetting,
  byteSizeSetting,
  choiceSetting,
  durationSetting,
  integerSetting,
  listSetting,
  readSettings,
  SettingsError,
  secretSetting,
  textSetting,
} from "./index.ts";

const declared = {
  host: textSetting({ placeholder: "host", defaultValue: "here", maxLength: 10, description: "host name" }),
  port: integerSetting({ placeholder: "port", defaultValue: 80, min: 0, max: 100, description: "port" }),
  apiKey: secretSetting({ placeholder: "key", maxLength: 20, description: "secret" }),
  logLevel: choiceSetting({
    placeholder: "level",
    defaultValue: "info",
    choices: ["info", "debug"],
    description: "log level",
  }),
  isOpen: booleanSetting({ description: "open" }),
  names: listSetting({
    placeholder: "names",
    maxItems: 3,
    check: (item) => (item.includes(" ") ? "has a space" : undefined),
    description: "names",
  }),
  timeout: durationSetting({
    placeholder: "time",
    defaultValue: 300,
    defaultText: "5m",
    description: "timeout",
  }),
  cacheSize: byteSizeSetting({ placeholder: "size", defaultText: "all", description: "size" }),
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

function errorsOf(sources: Parameters<typeof read>[0]): readonly string[] {
  try {
    read(sources);
  } catch (error) {
    if (error instanceof SettingsError) return error.messages;
    throw error;
  }
  return [];
}

test("settings that are not set have their defaults, and the result is frozen", () => {
  const values = read({});
  expect(values).toEqual({
    host: "here",
    port: 80,
    apiKey: undefined,
    logLevel: "info",
    isOpen: false,
    names: [],
    timeout: 300,
    cacheSize: undefined,
  });
  expect(Object.isFrozen(values)).toBe(true);
});

test("flags override the environment, the environment the file, and the file the defaults", () => {
  const filePath = fileWith("order.toml", 'host = "file"\nport = 3\nlog_level = "debug"\nis_open = true\n');
  const environment = { PROGRAM_HOST: "env", PROGRAM_PORT: "2" };
  expect(read({ flags: { host: "flag" }, environment, filePath })).toMatchObject({
    host: "flag",
    port: 2,
    logLevel: "debug",
    isOpen: true,
  });
});

test("a secret can be read from a file named in the environment, and prints as hidden", () => {
  const values = read({ environment: { PROGRAM_API_KEY_FILE: fileWith("key", "canary-1\n") } });
  expect(values.apiKey?.reveal()).toBe("canary-1");
  expect(JSON.stringify(values)).not.toContain("canary-1");
});

test("all errors are reported together, each with its source", () => {
  const filePath = fileWith("wrong.toml", 'colour = "red"\nhost = [1]\n');
  const messages = errorsOf({
    flags: { port: "eighty" },
    environment: { PROGRAM_LOG_LEVEL: "loud" },
    filePath,
  });
  expect(messages).toEqual([
    `${filePath}: unknown setting "colour"`,
    `${filePath}: host must be a single value`,
    '--port must be an integer from 0 to 100; got "eighty"',
    'PROGRAM_LOG_LEVEL must be one of info, debug; got "loud"',
  ]);
});

test.each([
  ["a number above its maximum", { flags: { port: "101" } }, "from 0 to 100"],
  ["a number with a sign", { flags: { port: "-1" } }, "from 0 to 100"],
  ["an empty string", { flags: { host: "" } }, "must not be empty"],
  ["an overlong string", { flags: { host: "x".repeat(11) } }, "at most 10 characters"],
  ["a missing file", { filePath: "/nowhere/at/all.toml" }, "--config: cannot read"],
  [
    "a missing secret file",
    { environment: { PROGRAM_API_KEY_FILE: "/nowhere" } },
    'PROGRAM_API_KEY_FILE: cannot read "/nowhere"',
  ],
  [
    "a boolean that is neither yes nor no",
    { environment: { PROGRAM_IS_OPEN: "perhaps" } },
    "must be yes or no",
  ],
])("%s is rejected with a message", (_what, sources, message) => {
  expect(errorsOf(sources).join("\n")).toContain(message);
});

test("a list is comma-separated, or an array in the file", () => {
  expect(read({}).names).toEqual([]);
  expect(read({ flags: { names: "ann, bob" } }).names).toEqual(["ann", "bob"]);
  expect(read({ filePath: fileWith("list.toml", 'names = ["ann", "bob"]\n') }).names).toEqual(["ann", "bob"]);
  expect(errorsOf({ filePath: fileWith("numbers.toml", "names = [1, 2]\n") })).toEqual([
    expect.stringContaining("names must be a list of strings"),
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
])("the duration %s is accepted", (text, seconds) => {
  expect(read({ flags: { timeout: text } }).timeout).toBe(seconds);
});

test.each([
  ["800MB", 800e6],
  ["12GiB", 12 * 2 ** 30],
  ["1.5 GB", 1.5e9],
])("the size %s is accepted", (text, bytes) => {
  expect(read({ flags: { cacheSize: text } }).cacheSize).toBe(bytes);
});

test.each([
  ["a list that is too long", { names: "a,b,c,d" }, "must have at most 3 entries"],
  ["a list with an empty entry", { names: "a,,b" }, "must not be empty"],
  ["a list with an invalid entry", { names: "ann,b b" }, 'has an entry that has a space: "b b"'],
  ["a duration in words", { timeout: "soon" }, "must be a duration, e.g. 30s"],
  ["a duration with two units", { timeout: "1h30m" }, "must be a duration, e.g. 30s"],
  ["a size without a unit", { cacheSize: "12" }, "must be a size, e.g. 800MB"],
  ["a negative size", { cacheSize: "-1GB" }, "must be a size, e.g. 800MB"],
])("%s is rejected with a message", (_what, flags, message) => {
  expect(errorsOf({ flags }).join("\n")).toContain(message);
});
