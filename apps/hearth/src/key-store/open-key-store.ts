import { homedir } from "node:os";
import { SettingsError } from "@hearth-and-keep/configuration";
import type { KeyStore, StoreOptions } from "./key-store.ts";

/** The settings that locate the database. */
export type KeyStoreLocation = {
  /** A PostgreSQL URL, or a file; undefined means the file in Hearth's own folder. */
  readonly database: string | undefined;
  readonly defaultFile: string;
};

/** Each backend is loaded only where it is used. Rejects with SettingsError if the database cannot be opened. */
export async function openKeyStore(
  { database, defaultFile }: KeyStoreLocation,
  options: StoreOptions = {},
): Promise<KeyStore> {
  const isRemote = database !== undefined && /^postgres(?:ql)?:\/\//u.test(database);
  try {
    if (isRemote) {
      const { openPostgresStore } = await import("./postgres-store.ts");
      return await openPostgresStore(database, options);
    }
    const { openSqliteStore } = await import("./sqlite-store.ts");
    return openSqliteStore((database ?? defaultFile).replace(/^~(?=\/)/u, homedir()), options);
  } catch (error) {
    // Neither the address nor the driver's text, which may contain the password.
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    const kind = isRemote ? "PostgreSQL database" : "file";
    throw new SettingsError([`--keys-database: cannot open the ${kind} with the keys (${code})`]);
  }
}
