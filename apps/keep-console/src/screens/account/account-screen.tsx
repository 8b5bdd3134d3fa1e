/**
 * @module
 * Account: the identities that may enter it, where somebody is signed in, and its end. Promises that the last way in
 * is never taken away from here, and that whatever ends says beforehand what ends with it.
 * Shown by `screens.tsx`.
 */
import { Failed, go, Loading, useAddress } from "@hearth-and-keep/page-design";
import type { Account, Session, SessionList } from "@hearth-and-keep/vault-contract";
import { useEffect } from "react";
import { sayDay } from "../../design/exact-moment.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { useAnswer } from "../../vault-api/use-query.ts";
import { DeleteAccount } from "./delete-account.tsx";
import { Identities } from "./identities.tsx";
import { providerName } from "./providers.tsx";
import { Sessions } from "./sessions.tsx";

export default function AccountScreen({ session }: { readonly session: Session }) {
  const account = useAnswer<Account>("/api/account");
  const sessions = useAnswer<SessionList>("/api/account/sessions");
  useNewsOfLinking(session, account.state === "there" && !account.isOld ? account.body : undefined);
  return (
    <div className="stack account">
      <div>
        <h1>Account</h1>
        <p className="quiet breaks account-since">
          {session.account.display_name}
          {account.state === "there" && `, here since ${sayDay(new Date(account.body.created_at))}`}
        </p>
      </div>
      {account.state === "loading" && <Loading lines={4} label="Loading the account" />}
      {account.state === "failed" && <Failed text={account.problem.message} onRetry={account.reload} />}
      {account.state === "there" && <Identities session={session} account={account.body} />}
      {sessions.state === "loading" && <Loading lines={4} label="Loading the sessions" />}
      {sessions.state === "failed" && <Failed text={sessions.problem.message} onRetry={sessions.reload} />}
      {sessions.state === "there" && (
        <Sessions
          session={session}
          sessions={sessions.body.items}
          identities={account.state === "there" ? account.body.identities : []}
        />
      )}
      {account.state === "there" && <DeleteAccount session={session} account={account.body} />}
    </div>
  );
}

/** Whoever comes back from a provider is told that it is linked, when it is. */
function useNewsOfLinking(session: Session, account: Account | undefined): void {
  const { query } = useAddress();
  const { tell } = useToasts();
  const linked = query.get("linked");
  useEffect(() => {
    if (linked === null || account === undefined) return;
    const found = account.identities.find(({ provider }) => provider === linked);
    if (found !== undefined) tell(`${providerName(session, found.provider)} is linked`);
    go("/account", { replaces: true });
  }, [linked, account, session, tell]);
}
