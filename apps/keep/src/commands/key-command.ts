import { addSettings } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import { printToStderr } from "@hearth-and-keep/terminal";
import type { Command } from "commander";
import { readStorageConfig, storageSettings } from "../config.ts";
import type { Failure } from "../failures.ts";
import { openKeys, readKeyText } from "../keys/custody/open-keys.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { recoverKeys } from "../keys/recovery/recover-keys.ts";
import { RecoveryError } from "../keys/recovery/recovery-error.ts";
import { readIdentityFiles, readRecoveryFiles, writeRecoveryFiles } from "../keys/recovery/recovery-files.ts";
import { sealKeys } from "../keys/recovery/seal-keys.ts";
import type { DefineCommand } from "./command-entry.ts";
import { assertKeyOfDatabase, drillRecovery } from "./key-recovery.ts";
import { openStored, print, type SettingFlags } from "./open-stored.ts";
import { exitCodes } from "./trusted-files.ts";

type Lists = { readonly identity: readonly string[]; readonly to: readonly string[] };
type RecoverFlags = Pick<Lists, "identity"> & { readonly output?: string };
type SealFlags = SettingFlags & Pick<Lists, "to">;
type DrillFlags = SettingFlags & Pick<Lists, "identity">;

const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

export const define: DefineCommand = (keyCommand) => {
  addSettings(
    keyCommand
      .command("fingerprint")
      .description("Print the fingerprints of the configured encryption keys, the first one first"),
    storageSettings,
  ).action(async ({ config: filePath, ...flags }: SettingFlags) => {
    const wrapper = await openKeys(readStorageConfig(flags, filePath));
    for (const fingerprint of wrapper.fingerprints) print(fingerprint);
  });
  addSettings(
    keyCommand
      .command("seal")
      .description("Write a recovery file with the encryption key of a database, or one file per share")
      .option("--to <recipient>", "age1pq1…, from 'age-keygen -pq'; can be repeated", collect, [])
      .requiredOption("--output <file>", "file to write; shares have a number after it")
      .option("--shares <number>", "split the key into so many shares, 2 to 16")
      .option("--threshold <number>", "how many of them suffice, at least 2"),
    storageSettings,
  ).action((flags: SealFlags) => report("seal", () => seal(flags)));
  addIdentities(
    keyCommand
      .command("recover")
      .description("Print the encryption key from a recovery file, or from enough shares")
      .option("--output <file>", "write it to a new file that only you can read, instead of printing it"),
  ).action((paths: readonly string[], flags: RecoverFlags) => report("recover", () => recover(paths, flags)));
  addSettings(
    addIdentities(
      keyCommand
        .command("drill")
        .description(
          "Prove on a copy of the database that the recovery files open every value; changes and reveals nothing",
        ),
    ),
    storageSettings,
  ).action((paths: readonly string[], flags: DrillFlags) => report("recover", () => drill(paths, flags)));
};

function addIdentities(command: Command): Command {
  return command
    .argument("<files...>", "recovery file, or enough of its shares")
    .option("--identity <file>", "file with an AGE-SECRET-KEY-PQ-1…; can be repeated", collect, []);
}

async function seal({ to, config: filePath, ...flags }: SealFlags): Promise<number> {
  const { shares, threshold, output = "", ...settings } = flags;
  if ((shares === undefined) !== (threshold === undefined))
    throw new RecoveryError("--shares and --threshold belong together");
  const config = readStorageConfig(settings, filePath);
  const text = await readKeyText(config);
  if (text === undefined) throw new FailureError<Failure>({ kind: "key-not-set" });
  const { fingerprints } = readKeys(text);
  await using database = await openStored(config, { isReadOnly: true });
  // The first key would replace the database's own when the file is used.
  await assertKeyOfDatabase(fingerprints.slice(0, 1), database);
  const plan = shares === undefined ? undefined : { shares: Number(shares), threshold: Number(threshold) };
  const contents = await sealKeys(text, fingerprints, { recipients: to, plan });
  for (const name of await writeRecoveryFiles(output, contents)) print(`Wrote ${name}`);
  print(
    plan === undefined
      ? `Sealed ${fingerprints.join(", ")}; test it with 'keep key drill' on a copy of the database`
      : `Sealed ${fingerprints.join(", ")}; ${plan.threshold} of these ${plan.shares} files are needed: test them with 'keep key drill' on a copy of the database`,
  );
  return exitCodes.valid;
}

async function recover(paths: readonly string[], { identity, output }: RecoverFlags): Promise<number> {
  const text = await recoverKeys(await readRecoveryFiles(paths), await readIdentityFiles(identity));
  if (output === undefined) print(text.reveal());
  else await writeRecoveryFiles(output, [`${text.reveal()}\n`]);
  return exitCodes.valid;
}

async function drill(
  paths: readonly string[],
  { identity, config: filePath, ...flags }: DrillFlags,
): Promise<number> {
  const text = await recoverKeys(await readRecoveryFiles(paths), await readIdentityFiles(identity));
  await using database = await openStored(readStorageConfig(flags, filePath), { isReadOnly: true });
  return await drillRecovery(readKeys(text), { database, print });
}

/** Sets the exit code. Standard output may be the key, so errors are on standard error. */
async function report(verb: string, work: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof RecoveryError)) throw error;
    printToStderr(`Cannot ${verb}: ${error.message}`);
    process.exitCode = exitCodes.invalid;
  }
}
