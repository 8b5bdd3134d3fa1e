/**
 * @module
 * Who calls, and whether they may: the one credential of a request becomes an Actor, decided on the matched row before
 * the body is read. Promises one answer for every credential that does not hold, and that no page of another site can
 * use a person's session.
 * Imported by `server.ts`.
 */
import type { CallHead } from "@hearth-and-keep/http-service";
import type { Actor } from "../authorization/actor.ts";
import { reachesVault } from "../authorization/grant.ts";
import { requestFailure } from "../failures.ts";
import type { AccessColumns } from "../route-row.ts";
import { readCredential } from "./credentials.ts";
import { refuseOtherSites } from "./same-origin.ts";

export type AccessParts = {
  /** Undefined when the token does not hold, for whatever reason. */
  readonly checkToken: (text: string, address: string) => Promise<Actor | undefined>;
  /** Undefined when the session does not hold, for whatever reason. */
  readonly checkSession: (text: string, address: string) => Promise<Actor | undefined>;
  /** Where people reach Keep: the only origin whose pages may use a session. */
  readonly publicUrl: URL;
  readonly sessionCookie: string;
};

const freshMilliseconds = 15 * 60 * 1000;

/** Undefined for a row that anybody may call. */
export async function admit(
  head: CallHead,
  row: AccessColumns,
  parts: AccessParts,
): Promise<Actor | undefined> {
  if (row.access === "public") return undefined;
  const actor = await authenticate(head, parts);
  refuseUnlessAllowed(actor, row);
  const { vault } = head.parameters;
  // As if it were not there.
  if (vault !== undefined && !reachesVault(actor.grant, vault)) throw requestFailure({ kind: "not-found" });
  return actor;
}

async function authenticate(head: CallHead, parts: AccessParts): Promise<Actor> {
  const credential = readCredential(head.headers, parts.sessionCookie);
  if (credential === "ambiguous") throw requestFailure({ kind: "credentials-ambiguous" });
  if (credential?.kind === "session") refuseOtherSites(head, parts.publicUrl);
  const actor =
    credential === undefined
      ? undefined
      : await (credential.kind === "token" ? parts.checkToken : parts.checkSession)(
          credential.text,
          head.address,
        );
  if (actor === undefined) throw requestFailure({ kind: "unauthenticated" });
  return actor;
}

function refuseUnlessAllowed({ kind, grant, authenticatedAt }: Actor, row: AccessColumns): void {
  if (row.access === "public") return;
  const needed = row.access === "session" ? "session" : row.scope;
  if (kind === "token") {
    if (needed === "session") throw requestFailure({ kind: "session-required" });
    if (needed !== "any" && !grant.scopes.has(needed)) {
      throw requestFailure({ kind: "insufficient-scope", scope: needed });
    }
    return;
  }
  const age = Date.now() - (authenticatedAt?.getTime() ?? 0);
  if (row.access === "fresh" && age > freshMilliseconds) throw requestFailure({ kind: "sign-in-too-old" });
}
