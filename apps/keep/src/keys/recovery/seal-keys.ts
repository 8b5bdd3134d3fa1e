import type { Hidden } from "@hearth-and-keep/logging";
import { splitKeyText } from "../key-encryption-key.ts";
import { sealFile } from "./age-file.ts";
import { type SharePlan, splitKeys } from "./key-shares.ts";
import { RecoveryError } from "./recovery-error.ts";

export type SealRequest = {
  readonly recipients: readonly string[];
  /** Absent for one file that contains the keys. */
  readonly plan: SharePlan | undefined;
};

/**
 * The content of each recovery file. A whole file contains the keys as the setting has them, so any age program opens it;
 * one of its recipients suffices. Shares are for one recipient each, or all for the same one.
 */
export async function sealKeys(
  text: Hidden<string>,
  fingerprints: readonly string[],
  { recipients, plan }: SealRequest,
): Promise<readonly string[]> {
  if (recipients.length === 0) throw new RecoveryError("no recipient is named; pass one with --to");
  const keys = splitKeyText(text);
  if (plan === undefined) return [await sealFile(Buffer.from(`${keys.join(",")}\n`), recipients)];
  if (recipients.length !== 1 && recipients.length !== plan.shares)
    throw new RecoveryError(
      `${plan.shares} shares need one recipient, or ${plan.shares}; there are ${recipients.length}`,
    );
  const bytes = Buffer.concat(keys.map((key) => Buffer.from(key, "base64")));
  const shares = await splitKeys(bytes, fingerprints, plan);
  bytes.fill(0);
  return Promise.all(
    shares.map((share, index) =>
      sealFile(Buffer.from(`${JSON.stringify(share)}\n`), [recipients[index] ?? recipients[0] ?? ""]),
    ),
  );
}
