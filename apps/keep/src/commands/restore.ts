import { errorScreen, screen } from "@hearth-and-keep/terminal";
import { secret } from "@hearth-and-keep/vault-contract";
import { clientFailure } from "../client/client-failure.ts";
import { findSecret } from "../client/find-secret.ts";
import { addContextFlags, type ContextFlags, openVaultContext } from "../client/open-context.ts";
import type { DefineCommand } from "./command-entry.ts";

type RestoreFlags = ContextFlags & { readonly json?: boolean };

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .argument("<name>", "name in the folder, or a path from the root of the vault")
      .argument("<version>", "number of the version, as keep history lists it")
      .option("--json", "print JSON"),
  ).action(restore);
};

/** Writes the older value as a new version, unless the secret changes in the meantime. */
async function restore(name: string, version: string, flags: RestoreFlags): Promise<void> {
  if (!/^[1-9]\d{0,9}$/u.test(version)) {
    const message = `Invalid version "${version}"`;
    throw clientFailure({ kind: "usage-error", message, next: 'use a number that "keep history" lists' });
  }
  await using context = await openVaultContext(flags);
  const { client, vaultId } = context;
  const { id, path, revision } = await findSecret(name, context);
  const address = `/api/secrets/vaults/${vaultId}/secrets/${id}/versions/${version}/restore`;
  const restored = await client.request(address, {
    method: "POST",
    headers: { "if-match": `"${revision}"` },
    shape: secret,
    subject: `${path}, version ${version}`,
  });
  if (flags.json === true) screen.writeLine(JSON.stringify(restored, null, 2));
  else errorScreen.writeLine(`Restored version ${version} of ${path} as version ${restored.version}`);
}
