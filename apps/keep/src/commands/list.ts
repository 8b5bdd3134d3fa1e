import { renderTable, screen } from "@hearth-and-keep/terminal";
import { type SecretMetadata, secretPage } from "@hearth-and-keep/vault-contract";
import {
  addContextFlags,
  type ContextFlags,
  openVaultContext,
  type VaultContext,
} from "../client/open-context.ts";
import type { DefineCommand } from "./command-entry.ts";

type ListFlags = ContextFlags & { readonly recursive?: boolean; readonly json?: boolean };

export const define: DefineCommand = (command) => {
  addContextFlags(
    command.option("-r, --recursive", "list subfolders too").option("--json", "print JSON"),
  ).action(list);
};

async function list(flags: ListFlags): Promise<void> {
  await using context = await openVaultContext(flags);
  const secrets = await readAllPages(flags, context);
  if (flags.json === true) {
    screen.writeLine(JSON.stringify({ secrets }, null, 2));
    return;
  }
  if (secrets.length === 0) {
    screen.writeLine(`No secrets in ${context.folder}; write one with "keep set NAME"`);
    return;
  }
  const rows = secrets.map(({ path, version, type, updated_at, tags }) => [
    relativeTo(context.folder, path),
    String(version),
    type,
    updated_at.slice(0, 16).replace("T", " "),
    tags.join(", "),
  ]);
  const headers = ["NAME", "VERSION", "TYPE", "UPDATED (UTC)", "TAGS"];
  const dropOrder = ["TAGS", "TYPE", "UPDATED (UTC)", "VERSION"];
  for (const line of renderTable(headers, rows, { screen, dropOrder })) screen.writeLine(line);
}

async function readAllPages(
  { recursive }: ListFlags,
  { client, vaultId, folder }: VaultContext,
): Promise<readonly SecretMetadata[]> {
  const secrets: SecretMetadata[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.request(`/api/secrets/vaults/${vaultId}/secrets`, {
      shape: secretPage,
      subject: folder,
      query: { path: folder, recursive: recursive === true ? "true" : undefined, limit: "200", cursor },
    });
    secrets.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return secrets;
}

function relativeTo(folder: string, path: string): string {
  const start = folder === "/" ? "/" : `${folder}/`;
  return path.startsWith(start) ? path.slice(start.length) : path;
}
