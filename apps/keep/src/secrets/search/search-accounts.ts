import { allowsPath, type Grant, vaultsOf } from "../../authorization/grant.ts";
import { type Page, scanPage } from "../../cursor.ts";
import type { Database } from "../../database/open-database.ts";
import { joinPath } from "../secret-path.ts";
import { type FoundPosition, type FoundSecretRow, searchSecrets } from "./queries.ts";

/** An account in which the caller may do something. */
export type SearchedAccount = {
  readonly accountId: string;
  readonly grant: Grant;
  /** When it is an organisation that a person is a member of. */
  readonly organisation?: { readonly id: string; readonly name: string };
};

export type FoundSecret = FoundSecretRow & { readonly account: SearchedAccount };

export type Search = {
  readonly words: readonly string[];
  /** The values of a cursor: the account, the vault, the folder and the name of a page's last secret. */
  readonly after: readonly string[] | null;
  readonly limit: number;
};

type SearchDependencies = {
  readonly database: Pick<Database, "queryInAccount">;
  /** Milliseconds of a clock. */
  readonly now: () => number;
};

const searchScope = "secrets:list" as const;
/** No further statement starts after it. */
const maxMilliseconds = 5000;

/**
 * A page of the secrets that the caller may list, in order of account, vault, folder and name. Each account is searched by
 * statements of its own, which see nothing of another one.
 */
export async function searchAccounts(
  accounts: readonly SearchedAccount[],
  { words, after, limit }: Search,
  { database, now }: SearchDependencies,
): Promise<Page<FoundSecret> & { readonly isComplete: boolean }> {
  const lastStart = now() + maxMilliseconds;
  const sorted = accounts.toSorted((one, other) => (one.accountId < other.accountId ? -1 : 1));
  let isComplete = true;
  const page = await scanPage<FoundSecret>({
    limit,
    after,
    isAllowed: ({ account: { grant }, vault_id, folder, name }) =>
      allowsPath(grant, { scope: searchScope, vaultId: vault_id }, joinPath(folder, name)),
    read: async (position, rowLimit) => {
      const found: FoundSecret[] = [];
      for (const account of accountsFrom(sorted, position)) {
        if (found.length >= rowLimit) break;
        isComplete = now() <= lastStart;
        if (!isComplete) break;
        const search = { words, after: positionIn(account, position), limit: rowLimit - found.length };
        const rows = await searchAccount(account, search, database);
        found.push(...rows.map((row) => ({ ...row, account })));
      }
      return found;
    },
    cursorOf: ({ account, vault_id, folder, name }) => [account.accountId, vault_id, folder, name],
  });
  return { ...page, isComplete };
}

function accountsFrom(sorted: readonly SearchedAccount[], position: readonly string[] | null) {
  const [first] = position ?? [];
  return first === undefined ? sorted : sorted.filter(({ accountId }) => accountId >= first);
}

function positionIn(
  { accountId }: SearchedAccount,
  position: readonly string[] | null,
): FoundPosition | null {
  const [last, vaultId = "", folder = "", name = ""] = position ?? [];
  return last === accountId ? [vaultId, folder, name] : null;
}

async function searchAccount(
  { accountId, grant }: SearchedAccount,
  search: Omit<Parameters<typeof searchSecrets>[2], "vaultIds">,
  database: SearchDependencies["database"],
): Promise<readonly FoundSecretRow[]> {
  const allowed = vaultsOf(grant, searchScope);
  if (allowed?.size === 0) return [];
  return searchSecrets(database, accountId, { ...search, vaultIds: allowed ? [...allowed] : null });
}
