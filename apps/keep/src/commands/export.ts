import { errorScreen, sanitizeText, screen } from "@hearth-and-keep/terminal";
import { exportedFile } from "@hearth-and-keep/vault-contract";
import { clientFailure } from "../client/client-failure.ts";
import { type ClientFormat, clientFormats, formatValues } from "../client/format-values.ts";
import {
  addContextFlags,
  type ContextFlags,
  openVaultContext,
  type VaultContext,
} from "../client/open-context.ts";
import { writePrivateFile } from "../client/private-file.ts";
import { requestValues } from "../client/read-values.ts";
import type { DefineCommand } from "./command-entry.ts";

const serverFormats = ["dotenv", "json"] as const;
const formats = [...serverFormats, ...clientFormats] as const;

type Format = (typeof formats)[number];

type ExportFlags = ContextFlags & {
  readonly format: string;
  readonly name: string;
  readonly output?: string;
  readonly reveal?: boolean;
};

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .option("--format <format>", formats.join(", "), "dotenv")
      .option("--name <name>", "name of the Kubernetes Secret", "keep")
      .option("--output <file>", "write a file that only you can read, instead of standard output")
      .option("--reveal", "print the values in a terminal too"),
  ).action(exportFolder);
};

async function exportFolder(flags: ExportFlags): Promise<void> {
  const format = formats.find((each) => each === flags.format);
  if (format === undefined) {
    const message = `Unknown format "${flags.format}": use ${formats.join(", ")}`;
    throw clientFailure({ kind: "usage-error", message });
  }
  if (flags.output === undefined && screen.isTerminal && flags.reveal !== true) {
    const message = "Values are not printed in a terminal, where others could see them";
    throw clientFailure({
      kind: "usage-error",
      message,
      next: "pass --output FILE or --reveal, or pipe them",
    });
  }
  await using context = await openVaultContext(flags);
  const content = await readContent(format, flags, context);
  if (flags.output === undefined) screen.write(screen.isTerminal ? sanitizeText(content) : content);
  else {
    await writePrivateFile(flags.output, content);
    errorScreen.writeLine(`Wrote ${flags.output}, which only you can read`);
  }
}

async function readContent(format: Format, { name }: ExportFlags, context: VaultContext): Promise<string> {
  if (!isOfClient(format)) return exportOnServer(format, context);
  const response = await requestValues({ expand: "references" }, context);
  return response.isUnchanged ? "" : formatValues(response.body.items, format, { name });
}

function isOfClient(format: Format): format is ClientFormat {
  return clientFormats.some((each) => each === format);
}

/** With references resolved, as in the other formats. */
async function exportOnServer(
  format: (typeof serverFormats)[number],
  { client, vaultId, folder, isInheriting }: VaultContext,
): Promise<string> {
  if (isInheriting) {
    const message = `The format ${format} has no inherited values`;
    const next = `use --format ${clientFormats.join(" or ")}`;
    throw clientFailure({ kind: "usage-error", message, next });
  }
  const query = { path: folder, format, expand: "references" };
  const address = `/api/secrets/vaults/${vaultId}/export`;
  return (await client.request(address, { shape: exportedFile, query, subject: folder })).content;
}
