import type { Batch, BatchResult } from "../../../batches/batch.ts";
import { createStoredId } from "../../../batches/batches.ts";
import { createFile } from "../../../batches/stored-file.ts";
import type { HearthDependencies } from "../../../dependencies.ts";
import type { OutputFiles } from "./openai-batch.ts";

/**
 * Moves the results of a batch into files. They fit into the memory that the batch has reserved, which is freed and
 * reserved again in one turn.
 */
export function writeOutputFiles(
  batch: Batch,
  lifetimeSeconds: number,
  { batches, files }: Pick<HearthDependencies, "batches" | "files">,
): OutputFiles {
  const { keyName } = batch.call.actor;
  const { results } = batch;
  batch.release();
  const write = (suffix: string, selected: readonly BatchResult[]): string | undefined => {
    if (selected.length === 0) return undefined;
    const content = new Uint8Array(Buffer.concat(selected.map(({ line }) => line)));
    const id = createStoredId("file-");
    const reservation = batches.ledger.reserve(keyName, content.length);
    const fileName = `${batch.id}_${suffix}.jsonl`;
    const file = createFile({ id, fileName, purpose: "batch_output", content, reservation, lifetimeSeconds });
    files.add(keyName, file);
    return id;
  };
  const outputFileId = write(
    "output",
    results.filter(({ type }) => type === "succeeded"),
  );
  const errorFileId = write(
    "error",
    results.filter(({ type }) => type !== "succeeded"),
  );
  return {
    ...(outputFileId === undefined ? {} : { outputFileId }),
    ...(errorFileId === undefined ? {} : { errorFileId }),
  };
}
