import type { Grant } from "./grant.ts";

/** Who acts, in one value: a person at the console, or a program with a token. */
export type Actor = {
  readonly accountId: string;
  readonly kind: "session" | "token";
  /** Of the session or the token. */
  readonly id: string;
  readonly grant: Grant;
  /** Where the request came from, as far as trusted proxies say. */
  readonly address: string;
  /** When the person last proved who they are; a program never does. */
  readonly authenticatedAt?: Date;
  /** The identity a person signed in with. */
  readonly identityId?: string;
};

/** As it is written into rows and audit records. */
export function nameActor({ kind, id }: Pick<Actor, "kind" | "id">): string {
  return `${kind}:${id}`;
}
