import type { Actor } from "../../authorization/actor.ts";
import { splitPath } from "../../authorization/path-patterns.ts";
import type { DecryptedValue, ReadDependencies } from "../read-value.ts";
import { writeDotenv } from "./dotenv.ts";
import type { FileEntry } from "./file-entries.ts";
import { writeJsonFile } from "./json-file.ts";
import { readSelected, readSelectionState, type Selection } from "./select-values.ts";

export type FileFormat = "dotenv" | "json";

export type ExportedFile = {
  readonly revision: number;
  readonly items: number;
  readonly content: string;
};

/** Exports a folder's values as one file; the export is recorded before the file is returned. */
export async function exportFile(
  actor: Actor,
  { selection, format }: { readonly selection: Selection; readonly format: FileFormat },
  dependencies: ReadDependencies,
): Promise<ExportedFile> {
  const { revision } = await readSelectionState(actor, selection, dependencies);
  const values = await readSelected(actor, { selection, event: "values-exported" }, dependencies);
  const entries = values.map((value) => entryOf(value, selection.folder));
  const content = format === "dotenv" ? writeDotenv(entries) : writeJsonFile(entries);
  return { revision, items: values.length, content };
}

/** The path relative to the exported folder. */
function entryOf({ path, type, value }: DecryptedValue, folder: string): FileEntry {
  const below = folder === "/" ? path : path.slice(folder.length);
  return { segments: splitPath(below), type, bytes: value };
}
