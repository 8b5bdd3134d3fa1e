import { type Actor, personOf } from "../../authorization/actor.ts";
import type { Transaction } from "../../database/transaction.ts";
import { requestFailure } from "../../failures.ts";
import type { ProposedChangeRow } from "../../keys/row-integrity/row-macs.ts";
import { readCredentialOrigin } from "./queries.ts";

/** Tokens and trust rules that are followed to the people behind them. */
const maxCredentials = 128;

/**
 * The people behind a proposal, who cannot approve it: the person who proposes, also with a token, and everybody who has
 * had a value of that token or decided that a trust rule issues it. Throws unless all of them are known: otherwise
 * somebody could approve their own change.
 */
export async function listBarredPeople(transaction: Transaction, actor: Actor): Promise<readonly string[]> {
  const person = personOf(actor);
  const people = new Set(person === undefined ? [] : [person]);
  const waiting = actor.kind === "token" ? [`token:${actor.id}`] : [];
  const seen = new Set<string>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const [kind, id = ""] = next.split(":");
    if (kind === "person") people.add(id);
    else waiting.push(...(await listOrigins(transaction, { accountId: actor.accountId, kind, id })));
    if (seen.size > maxCredentials) throw unknownPeople();
  }
  if (people.size === 0) throw unknownPeople();
  return [...people];
}

/** Who created the token or the trust rule, has rotated or changed it. */
async function listOrigins(
  transaction: Transaction,
  {
    accountId,
    kind,
    id,
  }: { readonly accountId: string; readonly kind: string | undefined; readonly id: string },
): Promise<readonly string[]> {
  const isCredential = kind === "token" || kind === "trust-rule";
  const origin = isCredential ? await readCredentialOrigin(transaction, { accountId, kind, id }) : undefined;
  // Earlier versions did not store who rotated a token.
  if (origin === undefined || (origin.isChanged && origin.changedBy.length === 0)) throw unknownPeople();
  return [origin.createdBy, ...origin.changedBy];
}

function unknownPeople(): Error {
  const reason =
    "It is not known who has had this token, so nobody could be kept from approving their own change; propose with a new token";
  return requestFailure({ kind: "conflict", reason });
}

/** The person who decides. Compares people, because one person can have many sessions; nobody decides in a personal account. */
export function requirePerson({ kind, personId }: Actor): string {
  if (kind === "token") throw requestFailure({ kind: "second-person-required" });
  if (personId === undefined) throw requestFailure({ kind: "not-found" });
  return personId;
}

export function assertSecondPerson({ barredPeople }: ProposedChangeRow, personId: string): void {
  if (barredPeople.includes(personId)) throw requestFailure({ kind: "second-person-required" });
}

/** Whether the actor is the person, or the token, that proposed the change. */
export function isProposer(
  { proposerKind, proposerId, personId }: ProposedChangeRow,
  actor: Pick<Actor, "kind" | "id" | "personId" | "ownerId">,
): boolean {
  if (personId !== null) return personOf(actor) === personId;
  return actor.kind === proposerKind && actor.id === proposerId;
}
