/**
 * @module
 * Searches secrets by path and tag in all vaults that the caller may list: those of the account of a token, or a person's
 * own and those of their organisations. Guarantees that a page contains only what a list of its vault would, and never a
 * value.
 * Imported by `routes.ts`.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { FoundSecretPage, searchQuery } from "@hearth-and-keep/vault-contract";
import type { Actor } from "../../authorization/actor.ts";
import { decodeCursor } from "../../cursor.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import { isId } from "../../generate-id.ts";
import { listMemberships } from "../../organisations/find-membership.ts";
import type { QueryRequest } from "../../route-row.ts";
import { describeSecret } from "../describe-secret.ts";
import { mapConcurrently } from "../map-concurrently.ts";
import { type FoundSecret, type SearchedAccount, searchAccounts } from "./search-accounts.ts";

const defaultPageItems = 50;
const maxWords = 10;

export async function handleSearchSecrets(
  { actor, query }: QueryRequest<typeof searchQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const search = {
    words: readWords(query.query),
    after: decodeCursor(query.cursor, isSearchCursor),
    limit: Number(query.limit ?? defaultPageItems),
  };
  const accounts = await listAccounts(actor, dependencies);
  const { database } = dependencies;
  const { page, next, isComplete } = await searchAccounts(accounts, search, { database, now: Date.now });
  const items = page.map(describeFound);
  return jsonResponse({ items, is_complete: isComplete, next_cursor: next });
}

/** In the Unicode form in which paths are stored. */
function readWords(text: string): readonly string[] {
  const words = [...new Set(text.normalize("NFC").split(/\s+/u))];
  if (words.length <= maxWords) return words;
  const reason = `must have at most ${maxWords} different words`;
  throw requestFailure({ kind: "request-invalid", errors: [{ field: "query", reason }] });
}

function isSearchCursor(values: readonly string[]): boolean {
  const [accountId = "", vaultId = ""] = values;
  return values.length === 4 && isId(accountId) && isId(vaultId);
}

/** The account of the actor, and for a person, their organisations with what role and grants allow there. */
async function listAccounts(
  { kind, accountId, grant }: Actor,
  dependencies: KeepDependencies,
): Promise<readonly SearchedAccount[]> {
  const own = { accountId, grant };
  if (kind === "token") return [own];
  const memberships = await listMemberships(accountId, dependencies);
  const accounts = await mapConcurrently(memberships, async ({ id, name }) => {
    const access = await dependencies.findAccess({ accountId: id, personId: accountId });
    return access === undefined ? [] : [{ accountId: id, grant: access.grant, organisation: { id, name } }];
  });
  return [own, ...accounts.flat()];
}

function describeFound({ account, ...row }: FoundSecret): FoundSecretPage["items"][number] {
  const { organisation } = account;
  return {
    vault_id: row.vault_id,
    vault_name: row.vault_name,
    ...(organisation === undefined
      ? {}
      : { organisation_id: organisation.id, organisation_name: organisation.name }),
    secret: describeSecret(row),
  };
}
