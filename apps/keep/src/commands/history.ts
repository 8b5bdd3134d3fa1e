import { renderTable, screen } from "@hearth-and-keep/terminal";
import { type SecretVersion, versionPage } from "@hearth-and-keep/vault-contract";
import { findSecret } from "../client/find-secret.ts";
import {
  addContextFlags,
  type ContextFlags,
  openVaultContext,
  type VaultContext,
} from "../client/open-context.ts";
import type { DefineCommand } from "./command-entry.ts";

type HistoryFlags = ContextFlags & { readonly json?: boolean };

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .argument("<name>", "name in the folder, or a path from the root of the vault")
      .option("--json", "print JSON"),
  ).action(showHistory);
};

async function showHistory(name: string, flags: HistoryFlags): Promise<void> {
  await using context = await openVaultContext(flags);
  const { id } = await findSecret(name, context);
  const versions = await readAllPages(id, context);
  if (flags.json === true) {
    screen.writeLine(JSON.stringify({ versions }, null, 2));
    return;
  }
  const rows = versions.map(({ version, created_at, created_by, size, destroyed_at }) => [
    String(version),
    created_at.slice(0, 16).replace("T", " "),
    created_by,
    destroyed_at === undefined ? `${size} bytes` : "destroyed",
  ]);
  const headers = ["VERSION", "WRITTEN (UTC)", "BY", "VALUE"];
  const dropOrder = ["BY", "VALUE"];
  for (const line of renderTable(headers, rows, { screen, dropOrder })) screen.writeLine(line);
}

async function readAllPages(
  secretId: string,
  { client, vaultId }: VaultContext,
): Promise<readonly SecretVersion[]> {
  const versions: SecretVersion[] = [];
  let cursor: string | undefined;
  do {
    const address = `/api/secrets/vaults/${vaultId}/secrets/${secretId}/versions`;
    const page = await client.request(address, { shape: versionPage, query: { limit: "200", cursor } });
    versions.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return versions;
}
