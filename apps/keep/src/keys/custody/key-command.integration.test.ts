import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { FailureError } from "@hearth-and-keep/failures";
import { chooseSize } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import { childEnvironment, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { explainFailure, type StartFailure } from "../../failures.ts";
import { generateKeyText, readKeys } from "../key-encryption-key.ts";
import { commandEnvironment } from "./config.ts";
import { hasKeys, openKeys } from "./open-keys.ts";

const program = fileURLToPath(new URL("../../../bin/keep.js", import.meta.url));
const key = generateKeyText();
const fingerprint = readKeys(new Hidden(key)).fingerprint;
const noKeys = {
  encryptionKey: undefined,
  encryptionKeyCommand: undefined,
  secondEncryptionKeyCommand: undefined,
  encryptionKeyCommandEnvironment: [],
  encryptionKeyFingerprint: undefined,
} as const;

const shell = (script: string): readonly string[] => ["sh", "-c", script];
const open = (settings: object, milliseconds?: number) => openKeys({ ...noKeys, ...settings }, milliseconds);

/** The sentence and the exit code of a start that must fail. */
async function explain(settings: object, milliseconds?: number): Promise<readonly [string, number]> {
  const error: unknown = await open(settings, milliseconds).then(
    () => new Error("the keys were opened"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof FailureError)) throw error;
  // Opening keys fails only with failures of the start.
  const { messages, exitCode } = explainFailure(error.failure as StartFailure);
  expect(messages).toHaveLength(1);
  return [messages[0] ?? "", exitCode];
}

test.each([
  ["a key", `echo ${key}`],
  ["a key without a newline", `printf %s ${key}`],
  ["a key with a Windows newline", `printf '%s\\r\\n' ${key}`],
  ["a key after a message on standard error", `echo unsealing >&2; echo ${key}`],
  ["a key with a process that goes on", `sleep 1 >/dev/null 2>&1 & echo ${key}`],
])("a program that prints %s is accepted", async (_name, script) => {
  const wrapper = await open({ encryptionKeyCommand: shell(script) });
  expect(wrapper.fingerprints).toEqual([fingerprint]);
});

test("keys are in the order of the settings: program, setting, second program", async () => {
  const keys = [generateKeyText(), generateKeyText(), generateKeyText(), generateKeyText()] as const;
  const settings = {
    encryptionKeyCommand: ["echo", keys[0]],
    encryptionKey: new Hidden(keys[1]),
    secondEncryptionKeyCommand: ["echo", `${keys[2]},${keys[3]}`],
  };
  const expected = keys.map((text) => readKeys(new Hidden(text)).fingerprint);
  expect((await open(settings)).fingerprints).toEqual(expected);
  expect([hasKeys(noKeys), hasKeys({ ...noKeys, ...settings })]).toEqual([false, true]);
});

const setting = "Cannot start: no encryption key from --encryption-key-command: the program";

test.each([
  ["does not exist", ["/nowhere/kms", "decrypt"], '"/nowhere/kms" was not found'],
  ["is a folder", ["/"], '"/" cannot be executed by this user'],
  [
    "exits with an error",
    shell("echo 'kms: access denied' >&2; exit 7"),
    '"sh" exited with code 7: kms: access denied',
  ],
  ["exits without a message", shell("exit 1"), '"sh" exited with code 1 and no error message'],
  ["is ended by a signal", shell("kill -9 $$"), '"sh" was ended by SIGKILL'],
  ["prints nothing", ["true"], '"true" printed something else than keys'],
  ["prints bytes", ["head", "-c", "32", "/dev/urandom"], '"head" printed something else than keys'],
  [
    "prints a key that is too short",
    ["openssl", "rand", "-base64", "31"],
    '"openssl" printed something else',
  ],
  [
    "prints nine keys",
    ["echo", Array.from({ length: 9 }, generateKeyText).join(",")],
    '"echo" printed something else',
  ],
  ["prints a key and fails", shell(`echo ${key}; exit 3`), '"sh" exited with code 3'],
  ["prints without end", ["yes"], '"yes" printed more than 4096 bytes'],
  [
    "writes errors without end",
    shell("yes x | head -c 100000 >&2; exit 2"),
    '"sh" exited with code 2: x x x',
  ],
])("a program that %s is reported in one sentence", async (_name, command, expected) => {
  const [message, code] = await explain({ encryptionKeyCommand: command });
  expect(message).toContain(`${setting} ${expected}`);
  expect(message.length).toBeLessThan(600);
  expect(code).toBe(3);
});

test("a program that hangs is killed with the processes that it started, and reported", async () => {
  await using folder = await makeTemporaryFolder("custody");
  const pidFile = `${folder.path}/pid`;
  const command = shell(`sleep 60 & echo $! > ${pidFile}; wait`);
  const [message, code] = await explain({ secondEncryptionKeyCommand: command }, 500);
  expect(message).toContain(
    '--second-encryption-key-command: the program "sh" did not finish within 0.5 seconds',
  );
  expect(code).toBe(3);
  const pid = (await readFile(pidFile, "utf8")).trim();
  // A process that has ended may wait for its parent to notice.
  const isAlive = () =>
    readFile(`/proc/${pid}/stat`, "utf8").then(
      (stat) => !stat.includes(") Z "),
      () => false,
    );
  await expect.poll(isAlive).toBe(false);
});

test("what looks like a key is hidden in an error message, and control characters are removed", async () => {
  const script = `printf 'cannot use %s \\033[31mor %s\\n' ${key} ${Buffer.from(key, "base64").toString("hex")} >&2; exit 1`;
  const [message] = await explain({ encryptionKeyCommand: shell(script) });
  expect(message).toContain("exited with code 1: cannot use [hidden] [31mor [hidden]");
});

test("a program gets the variables that are named, and never Keep's own", async () => {
  const inherited = {
    PATH: "/bin",
    HOME: "/root",
    AWS_REGION: "a",
    AWS_PROFILE: "b",
    AWSX: "c",
    KEEP_DATABASE_URL: "d",
    LD_PRELOAD: "e",
  };
  expect(commandEnvironment([], inherited)).toEqual({ PATH: "/bin", HOME: "/root" });
  expect(commandEnvironment(["AWS_*", "KEEP_*", "LD"], inherited)).toEqual({
    PATH: "/bin",
    HOME: "/root",
    AWS_REGION: "a",
    AWS_PROFILE: "b",
  });
  const [message] = await explain({
    encryptionKeyCommand: shell("env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= | cut -d= -f1 | sort >&2; exit 1"),
  });
  expect(message).toMatch(/exited with code 1: HOME PATH$/u);
});

test("a pinned fingerprint accepts its key and refuses another one with exit code 4", async () => {
  const other = generateKeyText();
  const settings = { encryptionKeyFingerprint: fingerprint };
  expect(await open({ ...settings, encryptionKeyCommand: ["echo", key] })).toMatchObject({
    isConfirmed: true,
  });
  expect(await open({ encryptionKeyCommand: ["echo", key] })).toMatchObject({ isConfirmed: false });
  expect(await open({ encryptionKey: new Hidden(key) })).toMatchObject({ isConfirmed: true });
  const [message, code] = await explain({ ...settings, encryptionKeyCommand: ["echo", other] });
  expect(message).toContain(`KEEP_ENCRYPTION_KEY_FINGERPRINT requires ${fingerprint}`);
  expect(code).toBe(4);
});

/** Runs `keep` as a process, with a program that prints the key. */
function runKeep(args: string, command: string): Promise<readonly [code: number | null, errors: string]> {
  return new Promise((resolve) => {
    const environment = { ...childEnvironment(), CUSTODY_KEY: key, KEEP_ENCRYPTION_KEY_COMMAND: command };
    const settings = { KEEP_DATABASE_URL: "postgres://keep@127.0.0.1:9/keep" };
    const child = execFile(
      process.execPath,
      [program, ...args.split(" ")],
      { env: { ...environment, ...settings, KEEP_ENCRYPTION_KEY_COMMAND_ENVIRONMENT: "CUSTODY_*" } },
      (_error, _output, errors) => resolve([child.exitCode, errors]),
    );
  });
}

test("every command that needs the key runs the program, before it uses the database", async () => {
  const commands = [
    "audit verify --database",
    "account suspend 0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e",
    "key fingerprint",
    "authenticate-rows",
    "key seal --output never",
    "serve",
  ].slice(0, chooseSize({ ci: 2, show: 6, nightly: 6 }));
  const failed = await Promise.all(commands.map((command) => runKeep(command, "false")));
  const message = `${setting} "false" exited with code 1 and no error message\n`;
  expect(failed).toEqual(commands.map(() => [3, message]));
  const accepted = await runKeep("audit verify --database", `sh -c 'echo "$CUSTODY_KEY"'`);
  expect(accepted).toEqual([3, expect.stringContaining("cannot connect to the database at 127.0.0.1:9")]);
});
