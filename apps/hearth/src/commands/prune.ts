import { readStoreConfig, storeSettings } from "../config.ts";
import { createCatalog } from "../models/catalog.ts";
import { openOwnStore } from "../models/open-stores.ts";
import type { UnusedFile } from "../models/prune.ts";
import { tellBytes } from "../terminal/measures.ts";
import { screen } from "../terminal/screen.ts";
import { drawTable } from "../terminal/table.ts";
import type { Define } from "./command-row.ts";

export type PrunePlan = {
  /** The folder of the store. */
  readonly models: string;
  readonly dryRun: boolean;
  readonly isJson?: boolean;
};

type PruneFlags = { readonly dryRun?: boolean; readonly json?: boolean; readonly models?: string };

export const define: Define = (command) => {
  command
    .option("--dry-run", "only tell what would go")
    .option("--json", "as JSON, for programs")
    .option(
      "--models <folder>",
      `the store to look into (default: HEARTH_MODELS, or ${storeSettings.models.fallbackText})`,
    )
    .action(async (flags: PruneFlags) => {
      const { models } = readStoreConfig({ models: flags.models });
      await prune({ models, dryRun: flags.dryRun === true, isJson: flags.json === true }, screen.line);
    });
};

/** Removes what no model needs from our own store, or tells what would go. Stores of other programs are not touched. */
export async function prune(
  { models, dryRun, isJson = false }: PrunePlan,
  print: (line: string) => void,
): Promise<void> {
  const store = await openOwnStore(models, dryRun ? "read-only" : "own");
  const files = await createCatalog([store]).prune({ dryRun });
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (isJson) print(JSON.stringify({ files, bytes, isRemoved: !dryRun }, null, 2));
  else if (files.length === 0) {
    print("Nothing to remove: every file belongs to a model, or is younger than an hour");
  } else {
    for (const line of tabulate(files)) print(line);
    const count = `${files.length} ${files.length === 1 ? "file" : "files"}`;
    print("");
    print(`${count}, ${tellBytes(bytes)} ${dryRun ? "would go" : "removed"}`);
  }
}

function tabulate(files: readonly UnusedFile[]): readonly string[] {
  const rows = files.map(({ kind, name, bytes, modifiedAt }) => [
    kind,
    tellBytes(bytes),
    modifiedAt.toISOString().slice(0, "2026-01-01T00:00".length).replace("T", " "),
    name,
  ]);
  const fit = { screen, least: ["NAME", "LAST WRITTEN"] };
  return drawTable(["WHAT", "SIZE", "LAST WRITTEN", "NAME"], rows, fit);
}
