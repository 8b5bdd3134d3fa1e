import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { explainFileError } from "@hearth-and-keep/failures";
import { errorScreen, sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { type Vault, vaultList } from "@hearth-and-keep/vault-contract";
import { Type } from "typebox";
import { clientFailure } from "../client/client-failure.ts";
import { readClientEnvironment } from "../client/config.ts";
import type { CredentialStore, Login } from "../client/credentials.ts";
import { type ContextFlags, folderOf, openStore } from "../client/open-context.ts";
import { formatProjectFile, type ProjectSettings, projectFileName } from "../client/project-file.ts";
import { parseServer } from "../client/server-address.ts";
import { openVaultClient } from "../client/vault-client.ts";
import type { DefineCommand } from "./command-entry.ts";

type InitFlags = ContextFlags & { readonly force?: boolean };

export const define: DefineCommand = (command) => {
  command
    .option("--server <url>", "server (default: KEEP_SERVER, else the last login)")
    .option("--vault <vault>", "name or id of the vault (default: asks)")
    .option("--env <name>", "environment that commands use unless another one is passed")
    .option("--folder <path>", "folder, within the environment if there is one")
    .option("--force", `replace the ${projectFileName} of this folder`)
    .action(init);
};

async function init(flags: InitFlags): Promise<void> {
  const store = openStore();
  const server = await chooseServer(flags, store);
  const choices = await listChoices(server, store);
  const choice = await chooseVault(choices, flags.vault);
  const settings = await describeProject(choice, flags, store);
  const file = join(process.cwd(), projectFileName);
  await writeProject(file, { settings, isReplacing: flags.force === true });
  screen.writeLine(`Wrote ${file} for the vault ${sanitizeLine(choice.vault.name)} at ${server}`);
}

async function chooseServer({ server }: InitFlags, store: CredentialStore): Promise<string> {
  const named = server ?? readClientEnvironment().server ?? (await store.list())[0]?.server;
  if (named === undefined) throw clientFailure({ kind: "server-missing" });
  return parseServer(named);
}

type Choice = { readonly vault: Vault; readonly login: Login };

/** The vaults of every account that this machine is logged in to. */
async function listChoices(server: string, store: CredentialStore): Promise<readonly Choice[]> {
  const logins = (await store.list()).filter((login) => login.server === server);
  if (logins.length === 0) throw clientFailure({ kind: "not-logged-in", server, organisation: undefined });
  const choices = await Promise.all(
    logins.map(async (login) => {
      await using client = openVaultClient(server, await store.readToken(login));
      const query = { limit: "200" };
      const vaults = await client.request("/api/secrets/vaults", { query, shape: vaultList });
      return vaults.map((vault) => ({ vault, login }));
    }),
  );
  return choices.flat();
}

async function chooseVault(choices: readonly Choice[], wanted: string | undefined): Promise<Choice> {
  const matching =
    wanted === undefined ? choices : choices.filter(({ vault }) => [vault.id, vault.name].includes(wanted));
  const [only, ...others] = matching;
  if (only === undefined) throw noVault(wanted);
  if (others.length === 0) return only;
  for (const [index, { vault, login }] of matching.entries()) {
    const account = login.account.kind === "person" ? "personal" : sanitizeLine(login.account.name);
    errorScreen.writeLine(
      `${String(index + 1).padStart(3)}  ${sanitizeLine(vault.name)}  ${account}  ${vault.id}`,
    );
  }
  const chosen = matching[(await askNumber()) - 1];
  if (chosen === undefined)
    throw clientFailure({
      kind: "usage-error",
      message: "More than one vault can be used",
      next: "pass one of them with --vault",
    });
  return chosen;
}

function noVault(wanted: string | undefined): Error {
  const message =
    wanted === undefined ? "The token may use no vault" : `There is no vault "${sanitizeLine(wanted)}"`;
  const next = 'if it belongs to an organisation, run "keep login" and choose the organisation on the page';
  return clientFailure({ kind: "usage-error", message, next });
}

/** Not a number without a terminal. */
async function askNumber(): Promise<number> {
  if (!process.stdin.isTTY) return Number.NaN;
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return Number(await questions.question("Vault: "));
  } finally {
    questions.close();
  }
}

const vaultSettings = Type.Object({
  environments: Type.Array(Type.String({ maxLength: 255 }), { maxItems: 1000 }),
  base: Type.Union([Type.String({ maxLength: 1024 }), Type.Null()]),
});

async function describeProject(
  { vault, login }: Choice,
  { env: environment, folder }: InitFlags,
  store: CredentialStore,
): Promise<ProjectSettings> {
  await using client = openVaultClient(login.server, await store.readToken(login));
  const { environments, base } = await client.request(`/api/secrets/vaults/${vault.id}`, {
    shape: vaultSettings,
  });
  const isKnown =
    environment === undefined || environments.length === 0 || environments.includes(environment);
  if (!isKnown) {
    const message = `The vault has no environment "${sanitizeLine(environment)}"`;
    const next = `use one of ${environments.map(sanitizeLine).join(", ")}`;
    throw clientFailure({ kind: "usage-error", message, next });
  }
  const isInheriting = base !== null && environments.length > 0;
  return {
    server: login.server,
    ...(login.account.kind === "organisation" ? { organisation: login.account.id } : {}),
    vault: vault.id,
    ...(environment === undefined ? {} : { environment }),
    ...(folder === undefined ? {} : { folder: folderOf(undefined, folder) }),
    ...(isInheriting ? { inherit: true } : {}),
  };
}

async function writeProject(
  file: string,
  { settings, isReplacing }: { readonly settings: ProjectSettings; readonly isReplacing: boolean },
): Promise<void> {
  try {
    await writeFile(file, formatProjectFile(settings), { flag: isReplacing ? "w" : "wx" });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") {
      const message = `${file} exists already`;
      throw clientFailure({ kind: "usage-error", message, next: "pass --force to replace it" });
    }
    const reason = explainFileError(error);
    throw reason === undefined ? error : clientFailure({ kind: "file-unusable", file, reason });
  }
}
