import { renderTable, screen } from "@hearth-and-keep/terminal";
import { readStoreConfig, storeSettings } from "../config.ts";
import { createCatalog } from "../models/catalog.ts";
import { openOwnStore } from "../models/open-stores.ts";
import type { UnusedFile } from "../models/prune.ts";
import { formatBytes } from "../terminal/format-units.ts";
import type { DefineCommand } from "./command-entry.ts";

export type PruneOptions = {
  /** The folder of the store. */
  readonly models: string;
  readonly dryRun: boolean;
  readonly isJson?: boolean;
};

type PruneFlags = { readonly dryRun?: boolean; readonly json?: boolean; readonly models?: string };

export const define: DefineCommand = (command) => {
  command
    .option("--dry-run", "show what would be removed, without removing it")
    .option("--json", "print JSON")
    .option(
      "--models <folder>",
      `model store to prune (default: HEARTH_MODELS, else ${storeSettings.models.defaultText})`,
    )
    .action(async (flags: PruneFlags) => {
      const { models } = readStoreConfig({ models: flags.models });
      await prune({ models, dryRun: flags.dryRun === true, isJson: flags.json === true }, screen.writeLine);
    });
};

/** Removes or lists the files in Hearth's own store that no model uses. Ollama's store is not touched. */
export async function prune(
  { models, dryRun, isJson = false }: PruneOptions,
  print: (line: string) => void,
): Promise<void> {
  const store = await openOwnStore(models, dryRun ? "read-only" : "own");
  const files = await createCatalog([store]).prune({ dryRun });
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (isJson) print(JSON.stringify({ files, bytes, isRemoved: !dryRun }, null, 2));
  else if (files.length === 0) {
    print("Nothing to remove: every file is used by a model or less than an hour old");
  } else {
    for (const line of renderFiles(files)) print(line);
    const count = `${files.length} ${files.length === 1 ? "file" : "files"}`;
    print("");
    print(`${count}, ${formatBytes(bytes)} ${dryRun ? "would be removed" : "removed"}`);
  }
}

function renderFiles(files: readonly UnusedFile[]): readonly string[] {
  const rows = files.map(({ kind, name, bytes, modifiedAt }) => [
    kind,
    formatBytes(bytes),
    modifiedAt.toISOString().slice(0, "2026-01-01T00:00".length).replace("T", " "),
    name,
  ]);
  return renderTable(["KIND", "SIZE", "MODIFIED", "NAME"], rows, {
    screen,
    dropOrder: ["NAME", "MODIFIED"],
  });
}
