import type { Database } from "../../database/open-database.ts";
import type { KeyWrapper } from "../key-wrapper.ts";
import { listServerKeys, readActiveKey, type ServerKeyRow } from "../queries.ts";
import type { RowMacs } from "../row-integrity/row-macs.ts";
import { openStoredKey, openVerificationKeys, publicKeyOf } from "../server-keys.ts";
import type { HeadSeal } from "../vault-heads/head-seal.ts";

export type VerificationKeys = { readonly rowMacs: RowMacs; readonly headSeal: HeadSeal };

type ServerKeyVerification = {
  readonly database: Pick<Database, "query">;
  readonly wrapper: KeyWrapper;
  readonly report: (finding: string) => void;
};

const purposes = ["sealing", "signing", "integrity"] as const;

/** Opens the keys that authenticate rows, and creates none; undefined when they are not genuine. */
export async function verifyServerKeys({
  database,
  wrapper,
  report,
}: ServerKeyVerification): Promise<VerificationKeys | undefined> {
  const active = await readActiveKey(database);
  if (active === undefined || !wrapper.fingerprints.includes(active))
    report("key_encryption_key: the active key is not one of the configured ones");
  const rows = await listServerKeys(database);
  for (const purpose of purposes)
    if (!rows.some((row) => row.purpose === purpose)) report(`server_key ${purpose} was removed`);
  let keys: VerificationKeys | undefined;
  for (const row of rows) {
    const key = await openStoredKey(row, wrapper);
    const name = `server_key ${row.purpose} ${row.version}`;
    if (key === undefined) report(`${name} is not genuine`);
    else if (row.purpose === "signing" && !isPublicKeyOf(row, publicKeyOf(key)))
      report(`${name}: its public key was changed`);
    else if (row.purpose === "integrity") keys = openVerificationKeys(key);
  }
  return keys;
}

function isPublicKeyOf({ publicKey }: ServerKeyRow, derived: Buffer): boolean {
  return publicKey?.equals(derived) === true;
}
