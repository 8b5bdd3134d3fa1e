/**
 * @module
 * Account: sign-in methods, active sessions and account deletion. The last sign-in method cannot be unlinked here, and
 * every destructive action first lists what it removes.
 * Shown by `screens.tsx`.
 */
import { ErrorNotice, Loading, navigate, useLocation } from "@hearth-and-keep/page-design";
import type { Account, Session, SessionList } from "@hearth-and-keep/vault-contract";
import { useEffect } from "react";
import { formatDate } from "../../design/timestamp.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { DeleteAccount } from "./delete-account.tsx";
import { Identities } from "./identities.tsx";
import { providerName } from "./providers.tsx";
import { Sessions } from "./sessions.tsx";

export default function AccountScreen({ session }: { readonly session: Session }) {
  const account = useQuery<Account>("/api/account");
  const sessions = useQuery<SessionList>("/api/account/sessions");
  useLinkedToast(session, account.state === "loaded" && !account.isStale ? account.body : undefined);
  return (
    <div className="stack account">
      <div>
        <h1>Account</h1>
        <p className="muted break-words account-summary">
          {session.account.display_name}
          {account.state === "loaded" && `, created ${formatDate(new Date(account.body.created_at))}`}
        </p>
      </div>
      {account.state === "loading" && <Loading lines={4} label="Loading account" />}
      {account.state === "failed" && <ErrorNotice text={account.error.message} onRetry={account.reload} />}
      {account.state === "loaded" && <Identities session={session} account={account.body} />}
      {sessions.state === "loading" && <Loading lines={4} label="Loading sessions" />}
      {sessions.state === "failed" && <ErrorNotice text={sessions.error.message} onRetry={sessions.reload} />}
      {sessions.state === "loaded" && (
        <Sessions
          session={session}
          sessions={sessions.body.items}
          identities={account.state === "loaded" ? account.body.identities : []}
        />
      )}
      {account.state === "loaded" && <DeleteAccount session={session} account={account.body} />}
    </div>
  );
}

/** After the browser returns from linking a provider (`?linked=…`), confirms the link if the account has it. */
function useLinkedToast(session: Session, account: Account | undefined): void {
  const { query } = useLocation();
  const { showToast } = useToasts();
  const linked = query.get("linked");
  useEffect(() => {
    if (linked === null || account === undefined) return;
    const identity = account.identities.find(({ provider }) => provider === linked);
    if (identity !== undefined) showToast(`${providerName(session, identity.provider)} linked`);
    navigate("/account", { replace: true });
  }, [linked, account, session, showToast]);
}
