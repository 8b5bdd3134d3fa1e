import { isDeepStrictEqual } from "node:util";
import { Hidden } from "@hearth-and-keep/logging";
import { readKeys } from "../key-encryption-key.ts";
import { openFile } from "./age-file.ts";
import { combineShares, type KeyShare, readShare } from "./key-shares.ts";
import { RecoveryError } from "./recovery-error.ts";

export type RecoveryFile = { readonly name: string; readonly content: Buffer };

const keyBytes = 32;

/** The keys in base64, separated by commas, from one whole file or from shares. */
export async function recoverKeys(
  files: readonly RecoveryFile[],
  identities: readonly string[],
): Promise<Hidden<string>> {
  if (identities.length === 0)
    throw new RecoveryError(
      "no hybrid identity is given; pass a file that 'age-keygen -pq' wrote with --identity",
    );
  const shares: KeyShare[] = [];
  for (const { name, content } of files) {
    const opened = await openFile(content, identities);
    if (opened === undefined)
      throw new RecoveryError(
        `"${name}" cannot be opened: it is for another identity, or it was changed or cut off`,
      );
    const text = Buffer.from(opened).toString("utf8").trim();
    const share = readShare(text);
    if (share === undefined && files.length === 1) return assertKeys(new Hidden(text), name);
    if (share === undefined) throw new RecoveryError(`"${name}" is not a share`);
    shares.push(share);
  }
  return combine(shares);
}

function assertKeys(text: Hidden<string>, name: string): Hidden<string> {
  try {
    readKeys(text);
    return text;
  } catch (error) {
    throw new RecoveryError(`"${name}" does not contain encryption keys`, { cause: error });
  }
}

async function combine(shares: readonly KeyShare[]): Promise<Hidden<string>> {
  const bytes = await combineShares(shares);
  const keys: string[] = [];
  for (let start = 0; start < bytes.length; start += keyBytes)
    keys.push(bytes.toString("base64", start, start + keyBytes));
  bytes.fill(0);
  const text = assertKeys(new Hidden(keys.join(",")), "the combination of the shares");
  if (!isDeepStrictEqual([...readKeys(text).fingerprints], shares[0]?.fingerprints))
    throw new RecoveryError("the shares combine to another key than was sealed; one of them was changed");
  return text;
}
