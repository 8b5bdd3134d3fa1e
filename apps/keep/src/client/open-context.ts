import type { Command } from "commander";
import { clientFailure } from "./client-failure.ts";
import { readClientEnvironment } from "./config.ts";
import { type CredentialStore, type Login, openCredentialStore } from "./credentials.ts";
import { openKeyring } from "./keyring.ts";
import { findProjectFile, type ProjectFile } from "./project-file.ts";
import { readRegularFile } from "./regular-file.ts";
import { parseServer } from "./server-address.ts";
import { openVaultClient, type VaultClient } from "./vault-client.ts";

/** Options of all commands that use secrets. */
export type ContextFlags = {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly vault?: string;
  readonly folder?: string;
  readonly env?: string;
};

/** The server that a command uses, with a token for it. */
export type ServerContext = AsyncDisposable & {
  readonly client: VaultClient;
  /** Undefined with a token from the environment or a file. */
  readonly login: Login | undefined;
  readonly token: string;
  readonly project: ProjectFile | undefined;
};

export type VaultContext = ServerContext & {
  readonly vaultId: string;
  /** The environment's folder and the one within it, e.g. `/dev/api`. */
  readonly folder: string;
  /** Whether the folder also has what its environment inherits. */
  readonly isInheriting: boolean;
};

const idPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

export function addContextFlags(command: Command): Command {
  return addServerFlag(command)
    .option("--vault <vault>", "name or id of the vault (default: KEEP_VAULT, else .keep.toml)")
    .option("--folder <path>", "folder, within the environment if there is one (default: .keep.toml)")
    .option("--env <name>", "environment (default: .keep.toml)");
}

export function addServerFlag(command: Command): Command {
  return command
    .option("--server <url>", "server (default: KEEP_SERVER, else .keep.toml, else the last login)")
    .option("--token-file <file>", "file that contains the token (default: KEEP_TOKEN, else the login)");
}

export function openStore(): CredentialStore {
  return openCredentialStore({ openKeyring });
}

/** The server, and the token that was confirmed for it. */
export async function openServerContext(
  { server: flag, tokenFile }: Pick<ContextFlags, "server" | "tokenFile">,
  store: CredentialStore = openStore(),
): Promise<ServerContext> {
  const environment = readClientEnvironment();
  const project = await findProjectFile(process.cwd());
  const named = flag ?? environment.server;
  const server = parseServer(named ?? project?.settings.server ?? (await lastServer(store)));
  const token = tokenFile === undefined ? environment.token : await readTokenFile(tokenFile);
  if (token !== undefined) {
    assertToken(token, tokenFile ?? "KEEP_TOKEN");
    assertNamed(server, { named, project });
    return contextOf({ server, token, login: undefined, project });
  }
  const login = await findLogin(server, project?.settings.organisation, store);
  return contextOf({ server, token: await store.readToken(login), login, project });
}

const maxTokenBytes = 4096;

/** Whoever mounts it decides who can read it: a credential of systemd, or a secret of Kubernetes. */
async function readTokenFile(file: string): Promise<string> {
  const found = await readRegularFile(file, maxTokenBytes);
  if (found === undefined) throw clientFailure({ kind: "file-unusable", file, reason: "it does not exist" });
  return found.content.toString("utf8").trim();
}

/** What a header cannot contain is no token. */
function assertToken(token: string, source: string): void {
  if (token.length > maxTokenBytes || !/^[\x21-\x7e]+$/u.test(token))
    throw clientFailure({ kind: "token-invalid", source });
}

type ContextParts = Pick<ServerContext, "token" | "login" | "project"> & { readonly server: string };

function contextOf({ server, ...parts }: ContextParts): ServerContext {
  const client = openVaultClient(server, parts.token);
  return { ...parts, client, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

async function lastServer(store: CredentialStore): Promise<string> {
  const [last] = await store.list();
  if (last === undefined) throw clientFailure({ kind: "server-missing" });
  return last.server;
}

/** A file in a cloned repository must not decide where a token that is no login is sent. */
function assertNamed(
  server: string,
  { named, project }: { readonly named: string | undefined; readonly project: ProjectFile | undefined },
): void {
  if (named === undefined)
    throw project?.settings.server === undefined
      ? clientFailure({ kind: "server-missing" })
      : clientFailure({ kind: "server-not-confirmed", server, file: project.file });
}

async function findLogin(
  server: string,
  organisation: string | undefined,
  store: CredentialStore,
): Promise<Login> {
  const logins = (await store.list()).filter((login) => login.server === server);
  const [only, ...others] = logins;
  const found =
    organisation === undefined
      ? (logins.find(({ account }) => account.kind === "person") ?? (others.length === 0 ? only : undefined))
      : logins.find(({ account }) => account.id === organisation);
  if (found === undefined) throw clientFailure({ kind: "not-logged-in", server, organisation });
  return found;
}

/** As `openServerContext`, with the vault and the folder. */
export async function openVaultContext(flags: ContextFlags, store?: CredentialStore): Promise<VaultContext> {
  const context = await openServerContext(flags, store);
  const settings = context.project?.settings ?? {};
  const vault = flags.vault ?? readClientEnvironment().vault ?? settings.vault;
  if (vault === undefined) throw clientFailure({ kind: "vault-missing" });
  const environment = flags.env ?? settings.environment;
  const isProjectVault = vault === settings.vault;
  return {
    ...context,
    vaultId: idPattern.test(vault) ? vault : await findVaultByName(vault, context.client),
    folder: folderOf(environment, flags.folder ?? settings.folder),
    isInheriting: isProjectVault && environment !== undefined && settings.inherit === true,
  };
}

async function findVaultByName(name: string, client: VaultClient): Promise<string> {
  const { findVault } = await import("./find-vault.ts");
  return findVault(name, client);
}

/** Throws for what would leave the environment. */
export function folderOf(environment: string | undefined, folder = "/"): string {
  const segments = [environment ?? [], folder.split("/").filter((segment) => segment !== "")].flat();
  const isInvalid =
    environment?.includes("/") === true || segments.some((each) => [".", ".."].includes(each));
  if (isInvalid) {
    const message = `Invalid folder "${[environment ?? "", folder].join(" ").trim()}"`;
    throw clientFailure({ kind: "usage-error", message, next: "use a path such as /api" });
  }
  return `/${segments.join("/")}`;
}

/** The path of a secret: a name in the folder, or a path from the root of the vault. */
export function pathOf(name: string, { folder }: Pick<VaultContext, "folder">): string {
  return name.startsWith("/") ? name : `${folder === "/" ? "" : folder}/${name}`;
}

/** Of a secret, for a URL. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
