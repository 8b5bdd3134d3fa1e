import { deriveKey, openMachineKey } from "../../../encryption/machine-key.ts";
import { createRecordSeal } from "./record-seal.ts";
import { ResponseFiles } from "./response-files.ts";
import { ResponseStore, type StoreLimits } from "./response-store.ts";

export type ResponseFolder = {
  readonly folder: string;
  /** The file of the machine key, created if it is missing. */
  readonly keyFile: string;
  /** Receives the names of files that are damaged or not ours; they are left alone. */
  readonly onSkip: (fileName: string) => void;
};

/** Nonce and tag. */
const sealOverheadBytes = 64;

/** A store that also writes every record to a folder, with the records that the folder already has. */
export async function openResponseStore(
  limits: StoreLimits,
  { folder, keyFile, onSkip }: ResponseFolder,
): Promise<ResponseStore> {
  const machineKey = await openMachineKey(keyFile);
  const files = new ResponseFiles(folder, createRecordSeal(machineKey));
  const store = new ResponseStore(limits, {
    files,
    sealKey: deriveKey(machineKey, "reasoning and summaries that clients keep"),
  });
  const maxBytes = Math.min(limits.maxBytes, limits.maxTotalBytes) + sealOverheadBytes;
  const loaded = files.load({ maxBytes, idleSeconds: limits.idleSeconds, onSkip });
  for await (const record of loaded) store.restore(record);
  await files.flush();
  return store;
}
