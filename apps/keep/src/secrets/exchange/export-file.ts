import type { Actor } from "../../authorization/actor.ts";
import type { OpenedValue, ReadParts } from "../read-value.ts";
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

/** A folder's values as one file. That they were exported is recorded before it is given. */
export async function exportFile(
  actor: Actor,
  { selection, format }: { readonly selection: Selection; readonly format: FileFormat },
  parts: ReadParts,
): Promise<ExportedFile> {
  const { revision } = await readSelectionState(actor, selection, parts);
  const values = await readSelected(actor, { selection, event: "values-exported" }, parts);
  const entries = values.map((value) => entryOf(value, selection.folder));
  const content = format === "dotenv" ? writeDotenv(entries) : writeJsonFile(entries);
  return { revision, items: values.length, content };
}

/** Where it is below the folder. */
function entryOf({ path, type, value }: OpenedValue, folder: string): FileEntry {
  const below = folder === "/" ? path : path.slice(folder.length);
  return { segments: below.split("/").slice(1), type, bytes: value };
}
