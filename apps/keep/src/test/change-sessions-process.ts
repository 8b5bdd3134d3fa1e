/**
 * Changes the sessions of all accounts, for tests that run Keep as a program. Arguments: the database's URL, the encryption
 * key, and assignments in SQL.
 */
import { Hidden } from "@hearth-and-keep/logging";
import { openDatabase } from "../database/open-database.ts";
import { readKeys } from "../keys/key-encryption-key.ts";
import { listAccountIds } from "../keys/row-integrity/queries.ts";
import { openServerKeys } from "../keys/server-keys.ts";
import { changeSessions } from "./change-sessions.ts";

const [url = "", key = "", assignments = ""] = process.argv.slice(2);
await using database = await openDatabase({ url });
const serverKeys = await openServerKeys(database, readKeys(new Hidden(key)));
for (const accountId of await listAccountIds(database, undefined))
  await changeSessions({ services: { database, serverKeys } }, accountId, assignments);
