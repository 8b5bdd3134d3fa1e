import { stat } from "node:fs/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { CommandFailure } from "../failures.ts";
import { createFromFile } from "../models/create-from-file.ts";
import { displayModelName, parseModelName } from "../models/model-name.ts";
import { openStores } from "../models/open-stores.ts";

export type CreatePlan = {
  readonly name: string;
  /** A GGUF file, or the first part of a split one. */
  readonly from: string;
  /** The folder of the store. */
  readonly models: string;
};

/** Puts a model file into the store under a name. Works without a server; a running one sees the model at once. */
export async function create(plan: CreatePlan, print: (line: string) => void): Promise<void> {
  const { name, from, models } = plan;
  const status = await stat(from).catch(() => undefined);
  if (status?.isFile() !== true) throw new FailureError<CommandFailure>({ kind: "file-missing", file: from });
  await createFromFile(await openStores(models), { name, file: from });
  print(`Created ${displayModelName(parseModelName(name))} from ${(status.size / 1e6).toFixed(0)} MB`);
}
