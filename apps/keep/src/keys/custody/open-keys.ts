/**
 * @module
 * Custody of the key-encryption key: it comes from a setting, or from a program that asks whoever keeps it, once per start.
 * Guarantees that such a program gets a clean environment, ten seconds and a few kilobytes, that what it prints is never
 * logged, and that a key which the database does not know replaces none without a pinned fingerprint.
 * Imported by `commands/`.
 */
import { FailureError } from "@hearth-and-keep/failures";
import { Hidden } from "@hearth-and-keep/logging";
import type { StorageConfig } from "../../config.ts";
import type { Failure } from "../../failures.ts";
import { readKeys } from "../key-encryption-key.ts";
import type { KeyWrapper } from "../key-wrapper.ts";
import { commandEnvironment } from "./config.ts";
import { runKeyCommand } from "./run-key-command.ts";

type KeyConfig = Pick<
  StorageConfig,
  | "encryptionKey"
  | "encryptionKeyCommand"
  | "secondEncryptionKeyCommand"
  | "encryptionKeyCommandEnvironment"
  | "encryptionKeyFingerprint"
>;

const defaultTimeoutMilliseconds = 10_000;

/** Whether the settings name any key. */
export function hasKeys(config: KeyConfig): boolean {
  return [config.encryptionKey, config.encryptionKeyCommand, config.secondEncryptionKeyCommand].some(
    (source) => source !== undefined,
  );
}

/** All configured keys. The command's come first, then those of the setting, then those of the second command. */
export async function openKeys(
  config: KeyConfig,
  timeoutMilliseconds = defaultTimeoutMilliseconds,
): Promise<KeyWrapper> {
  const text = await readKeyText(config, timeoutMilliseconds);
  const { encryptionKeyCommand, encryptionKeyFingerprint: expected } = config;
  const wrapper = readKeys(text, {
    isConfirmed: encryptionKeyCommand === undefined || expected !== undefined,
  });
  const given = wrapper.fingerprint;
  if (expected !== undefined && given !== expected)
    throw new FailureError<Failure>({ kind: "key-not-pinned", given, expected });
  return wrapper;
}

/** The configured keys in base64, separated by commas. */
export async function readKeyText(
  config: KeyConfig,
  timeoutMilliseconds = defaultTimeoutMilliseconds,
): Promise<Hidden<string> | undefined> {
  const options = {
    environment: commandEnvironment(config.encryptionKeyCommandEnvironment),
    timeoutMilliseconds,
  };
  const [first, second] = await Promise.all([
    askCommand("--encryption-key-command", config.encryptionKeyCommand, options),
    askCommand("--second-encryption-key-command", config.secondEncryptionKeyCommand, options),
  ]);
  const texts = [first, config.encryptionKey, second].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : new Hidden(texts.map((text) => text.reveal()).join(","));
}

type CommandOptions = Parameters<typeof runKeyCommand>[1];

async function askCommand(
  setting: string,
  command: readonly string[] | undefined,
  options: CommandOptions,
): Promise<Hidden<string> | undefined> {
  if (command === undefined) return undefined;
  const [program = ""] = command;
  const result = await runKeyCommand(command, options);
  const problem = "problem" in result ? result.problem : undefined;
  const text = "output" in result ? new Hidden(result.output.toString("utf8").trim()) : undefined;
  if ("output" in result) result.output.fill(0);
  if (text !== undefined && isKeyText(text)) return text;
  throw new FailureError<Failure>({
    kind: "key-command-failed",
    setting,
    program,
    problem: problem ?? { kind: "no-key" },
  });
}

function isKeyText(text: Hidden<string>): boolean {
  try {
    readKeys(text);
    return true;
  } catch (error) {
    if (error instanceof FailureError) return false;
    throw error;
  }
}
