import { screen } from "@hearth-and-keep/terminal";
import { type ImportReport, importReport } from "@hearth-and-keep/vault-contract";
import { clientFailure } from "../client/client-failure.ts";
import { addContextFlags, type ContextFlags, openVaultContext } from "../client/open-context.ts";
import { readNewValue } from "../client/read-new-value.ts";
import type { DefineCommand } from "./command-entry.ts";

const formats = ["dotenv", "json"] as const;

type ImportFlags = ContextFlags & {
  readonly format?: string;
  readonly overwrite?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .argument("<file>", "file to import; - reads standard input")
      .option("--format <format>", `${formats.join(", ")} (default: by the name of the file)`)
      .option("--overwrite", "write a new version of secrets that exist; otherwise they stay as they are")
      .option("--dry-run", "report what would change, and change nothing")
      .option("--json", "print JSON"),
  ).action(importFile);
};

async function importFile(file: string, flags: ImportFlags): Promise<void> {
  const wanted = flags.format ?? (file.endsWith(".json") ? "json" : "dotenv");
  const format = formats.find((each) => each === wanted);
  if (format === undefined) {
    const message = `Unknown format "${wanted}": use ${formats.join(" or ")}`;
    throw clientFailure({ kind: "usage-error", message });
  }
  await using context = await openVaultContext(flags);
  const { client, vaultId, folder } = context;
  const content = await readNewValue(file, file === "-" ? {} : { file });
  const report = await client.request(`/api/secrets/vaults/${vaultId}/import`, {
    method: "POST",
    body: { content: content.toString("utf8") },
    shape: importReport,
    subject: file,
    query: {
      format,
      path: folder,
      mode: flags.overwrite === true ? "overwrite" : "create",
      dry_run: flags.dryRun === true ? "true" : undefined,
    },
  });
  if (flags.json === true) screen.writeLine(JSON.stringify(report, null, 2));
  else printReport(report);
}

function printReport({ dry_run, created, changed, unchanged, skipped }: ImportReport): void {
  const groups = [
    [dry_run ? "Would create" : "Created", created],
    [dry_run ? "Would change" : "Changed", changed],
    ["Unchanged", unchanged],
    ["Left as it is (use --overwrite)", skipped],
  ] as const;
  for (const [title, paths] of groups) for (const path of paths) screen.writeLine(`${title}: ${path}`);
  if (groups.every(([, paths]) => paths.length === 0)) screen.writeLine("The file has no secrets");
}
