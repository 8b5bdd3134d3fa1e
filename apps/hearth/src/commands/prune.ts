import { readStoreConfig, storeSettings } from "../config.ts";
import { createCatalog } from "../models/catalog.ts";
import { openOwnStore } from "../models/open-stores.ts";
import type { UnusedFile } from "../models/prune.ts";
import { tellBytes } from "../terminal/measures.ts";
import type { Define } from "./command-row.ts";

export type PrunePlan = {
  /** The folder of the store. */
  readonly models: string;
  readonly dryRun: boolean;
};

export const define: Define = (command) => {
  command
    .option("--dry-run", "only tell what would go")
    .option(
      "--models <folder>",
      `the store to look into (default: HEARTH_MODELS, or ${storeSettings.models.fallbackText})`,
    )
    .action(async (flags: { readonly dryRun?: boolean; readonly models?: string }) => {
      const { models } = readStoreConfig({ models: flags.models });
      const dryRun = flags.dryRun === true;
      await prune({ models, dryRun }, (line) => process.stdout.write(`${line}\n`));
    });
};

/** Removes what no model needs from our own store, or tells what would go. Stores of other programs are not touched. */
export async function prune({ models, dryRun }: PrunePlan, print: (line: string) => void): Promise<void> {
  const store = await openOwnStore(models, dryRun ? "read-only" : "own");
  const files = await createCatalog([store]).prune({ dryRun });
  if (files.length === 0) {
    print("Nothing to remove: every file belongs to a model, or is younger than an hour");
    return;
  }
  for (const line of tabulate(files)) print(line);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  print("");
  print(
    `${files.length} ${files.length === 1 ? "file" : "files"}, ${tellBytes(bytes)} ${dryRun ? "would go" : "removed"}`,
  );
}

function tabulate(files: readonly UnusedFile[]): readonly string[] {
  const rows = files.map(({ kind, name, bytes, modifiedAt }) => [
    kind,
    tellBytes(bytes),
    modifiedAt.toISOString().slice(0, "2026-01-01T00:00".length).replace("T", " "),
    name,
  ]);
  const table = [["what", "size", "last written", "name"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
