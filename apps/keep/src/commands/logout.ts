import { errorScreen, sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { clientFailure, isClientFailure } from "../client/client-failure.ts";
import type { CredentialStore, Login } from "../client/credentials.ts";
import { openStore } from "../client/open-context.ts";
import { deleteCachedValues } from "../client/run/value-cache.ts";
import { parseServer } from "../client/server-address.ts";
import { openVaultClient } from "../client/vault-client.ts";
import type { DefineCommand } from "./command-entry.ts";

export const define: DefineCommand = (command) => {
  command
    .argument("[server]", "log out of this server only (default: the last login)")
    .option("--all", "log out of every server")
    .action(logOut);
};

async function logOut(address: string | undefined, flags: { readonly all?: boolean }): Promise<void> {
  const store = openStore();
  const logins = await store.list();
  const server = address === undefined ? logins[0]?.server : parseServer(address);
  const chosen = flags.all === true ? logins : logins.filter((login) => login.server === server);
  if (chosen.length === 0) {
    if (server === undefined) throw clientFailure({ kind: "server-missing" });
    throw clientFailure({ kind: "not-logged-in", server, organisation: undefined });
  }
  for (const login of chosen) {
    const isRevoked = await revoke(login, store);
    await store.remove(login);
    await deleteCachedValues();
    const account = sanitizeLine(login.account.name);
    screen.writeLine(`Logged out of ${login.server} (${account})`);
    if (!isRevoked)
      errorScreen.writeLine(
        `The server could not be asked to revoke the token; revoke it in the console, or it expires on ${login.expires_at.slice(0, 10)}`,
      );
  }
}

/** True also when the token does not work any more. */
async function revoke(login: Login, store: CredentialStore): Promise<boolean> {
  try {
    await using client = openVaultClient(login.server, await store.readToken(login));
    await client.request("/api/secrets/tokens/self", { method: "DELETE" });
    return true;
  } catch (error) {
    if (isClientFailure(error, "problem")) return error.failure.problem.code === "unauthenticated";
    const isAway = isClientFailure(error, "server-unreachable") || isClientFailure(error, "keyring-unusable");
    if (!isAway) throw error;
    return false;
  }
}
