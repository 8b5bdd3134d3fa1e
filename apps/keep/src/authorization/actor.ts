import type { Grant } from "./grant.ts";

/** The authenticated caller: a signed-in person, or a program with a token. */
export type Actor = {
  readonly accountId: string;
  readonly kind: "session" | "token";
  /** The id of the session or the token. */
  readonly id: string;
  readonly grant: Grant;
  /** The client's address, resolved through trusted proxies. */
  readonly address: string;
  /** When the person last signed in; absent for tokens. */
  readonly authenticatedAt?: Date;
  /** The identity a person signed in with. */
  readonly identityId?: string;
  /** The account of the person, when they act in an organisation. */
  readonly personId?: string;
  /** The account of the member to whom a token of an organisation belongs. */
  readonly ownerId?: string;
  /** Whether the person may manage other accounts; never with a token. */
  readonly isOperator?: boolean;
};

/** Who is responsible for a change: a caller, or the trust rule by which a token was exchanged. */
export type Originator = Pick<Actor, "id" | "address" | "personId"> & {
  readonly kind: Actor["kind"] | "trust-rule";
};

/** The form stored in rows and audit records, e.g. `token:0198…`; in an organisation, sessions say nothing of who it was. */
export function formatActor({ kind, id, personId }: Pick<Originator, "kind" | "id" | "personId">): string {
  return personId === undefined ? `${kind}:${id}` : `person:${personId}`;
}

/** Who acts in an organisation, also with a token of theirs. */
export function personOf({ personId, ownerId }: Pick<Actor, "personId" | "ownerId">): string | undefined {
  return personId ?? ownerId;
}
