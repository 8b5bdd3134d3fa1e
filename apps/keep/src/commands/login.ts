import { hostname } from "node:os";
import { errorScreen, sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { type LoginToken, maxMachineCharacters } from "@hearth-and-keep/vault-contract";
import { clientFailure, isClientFailure } from "../client/client-failure.ts";
import { readClientEnvironment } from "../client/config.ts";
import { type CredentialStore, type Login, openCredentialStore } from "../client/credentials.ts";
import { openKeyring } from "../client/keyring.ts";
import { loginByDevice } from "../client/login/device-login.ts";
import { openBrowser } from "../client/login/open-browser.ts";
import { type LoginRequest, loginByRedirect } from "../client/login/redirect-login.ts";
import { findProjectFile } from "../client/project-file.ts";
import { parseServer } from "../client/server-address.ts";
import { openVaultClient, type VaultClient } from "../client/vault-client.ts";
import type { DefineCommand } from "./command-entry.ts";

type LoginFlags = {
  readonly device?: boolean;
  readonly readOnly?: boolean;
  /** False with --no-browser or --no-keyring. */
  readonly browser: boolean;
  readonly keyring: boolean;
};

export const define: DefineCommand = (command) => {
  command
    .argument("[server]", "URL of the server (default: KEEP_SERVER, else .keep.toml, else the last login)")
    .option("--device", "for a machine without a browser: approve on another one with a code")
    .option("--read-only", "get a token that cannot write")
    .option("--no-browser", "print the address of the page only")
    .option("--no-keyring", "store the token in a file that only you can read")
    .action(login);
};

async function login(address: string | undefined, flags: LoginFlags): Promise<void> {
  const store = openCredentialStore({ openKeyring: flags.keyring ? openKeyring : undefined });
  const server = parseServer(address ?? (await defaultServer(store)));
  await using client = openVaultClient(server);
  const request = { machine: machineName(), permission: flags.readOnly === true ? "read" : "write" } as const;
  const token = await requestToken(client, request, flags);
  const { account, person } = token;
  const expires_at = new Date(Date.now() + token.expires_in * 1000).toISOString();
  const added = { server, account, person, expires_at };
  await revokeReplaced(added, store);
  const place = await store.save(added, token.access_token);
  const inAccount = account.kind === "person" ? "" : ` in ${sanitizeLine(account.name)}`;
  screen.writeLine(`Logged in to ${server} as ${sanitizeLine(person)}${inAccount}`);
  screen.writeLine(
    place === "keyring"
      ? "The token is in the system keyring; it expires in 30 days"
      : "The token is in a file that only you can read, because no keyring is used; it expires in 30 days",
  );
}

async function defaultServer(store: CredentialStore): Promise<string> {
  const named = readClientEnvironment().server ?? (await findProjectFile(process.cwd()))?.settings.server;
  const [last] = named === undefined ? await store.list() : [];
  const server = named ?? last?.server;
  if (server === undefined) throw clientFailure({ kind: "server-missing" });
  return server;
}

/** Of characters that the server accepts. */
function machineName(): string {
  const name = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/gu, "-")
    .replace(/^[^A-Za-z0-9]+/u, "")
    .slice(0, maxMachineCharacters);
  return name === "" ? "unknown" : name;
}

function requestToken(
  client: VaultClient,
  request: LoginRequest,
  { device, browser }: LoginFlags,
): Promise<LoginToken> {
  if (device === true) {
    return loginByDevice(client, request, {
      onCode: ({ user_code, verification_uri }) => {
        errorScreen.writeLine(`Open ${sanitizeLine(verification_uri)} on any machine and enter the code:`);
        errorScreen.writeLine(`\n    ${errorScreen.style("bold", sanitizeLine(user_code))}\n`);
        errorScreen.writeLine("Approve only if the page shows the same code. It expires in 10 minutes.");
      },
    });
  }
  return loginByRedirect(client, request, {
    onPage: (url) => {
      errorScreen.writeLine(`Approve the login in your browser:\n\n    ${url}\n`);
      if (browser) openBrowser(url);
    },
  });
}

/** Otherwise every login would leave a token behind. */
async function revokeReplaced(added: Login, store: CredentialStore): Promise<void> {
  const replaced = (await store.list()).find(
    ({ server, account }) => server === added.server && account.id === added.account.id,
  );
  if (replaced === undefined) return;
  try {
    await using client = openVaultClient(added.server, await store.readToken(replaced));
    await client.request("/api/secrets/tokens/self", { method: "DELETE" });
  } catch (error) {
    // It has expired, was revoked, or the keyring does not give it back.
    const isGone = isClientFailure(error, "problem") || isClientFailure(error, "keyring-unusable");
    if (!isGone) throw error;
  }
}
