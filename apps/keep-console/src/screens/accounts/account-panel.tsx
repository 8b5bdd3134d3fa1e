import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { OperatorAccount, Session } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { SidePanel } from "../../design/side-panel.tsx";
import { formatDate, Timestamp } from "../../design/timestamp.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { ProviderIcon, providerName } from "../account/providers.tsx";
import { AccountStatus } from "./account-status.tsx";
import { accountsPath } from "./accounts-location.ts";
import { ChangeStatusDialog } from "./change-status.tsx";

export type AccountPanelProps = {
  readonly session: Session;
  readonly accountId: string;
  readonly onClose: () => void;
};

/** One account: how people sign in to it, and its suspension. */
export function AccountPanel({ session, accountId, onClose }: AccountPanelProps) {
  const account = useQuery<OperatorAccount>(`${accountsPath}/${encodeURIComponent(accountId)}`);
  const [isChanging, setIsChanging] = useState(false);
  const loaded = account.state === "loaded" ? account.body : undefined;
  return (
    <SidePanel title={loaded?.display_name ?? "Account"} onClose={onClose}>
      {account.state === "loading" && <Loading />}
      {account.state === "failed" && <ErrorNotice text={account.error.message} onRetry={account.reload} />}
      {loaded !== undefined && (
        <div className="stack">
          <AccountDetails account={loaded} />
          <StatusAction account={loaded} isSelf={loaded.id === session.account.id} onChange={setIsChanging} />
          <Identities session={session} account={loaded} />
        </div>
      )}
      {isChanging && loaded !== undefined && (
        <ChangeStatusDialog session={session} account={loaded} onClose={() => setIsChanging(false)} />
      )}
    </SidePanel>
  );
}

function AccountDetails({ account }: { readonly account: OperatorAccount }) {
  return (
    <dl className="properties">
      <dt>Status</dt>
      <dd>
        <AccountStatus account={account} />
      </dd>
      <dt>Kind</dt>
      <dd>
        {account.kind === "organisation" ? "Organisation" : "Person"}
        {account.is_operator && ", operator"}
      </dd>
      <dt>Created</dt>
      <dd>{formatDate(new Date(account.created_at))}</dd>
      <dt>Id</dt>
      <dd className="mono break-words">{account.id}</dd>
    </dl>
  );
}

type StatusActionProps = {
  readonly account: OperatorAccount;
  readonly isSelf: boolean;
  readonly onChange: (isChanging: boolean) => void;
};

function StatusAction({ account, isSelf, onChange }: StatusActionProps) {
  if (isSelf)
    return <p className="muted small">This is your own account. Another operator can suspend it.</p>;
  return (
    <div className="stack tight">
      {account.status === "paused" && (
        <p className="muted small">
          Paused because the person's membership ended or could not be confirmed. The next admitted sign-in
          resumes it.
        </p>
      )}
      <div>
        <button type="button" className="button" onClick={() => onChange(true)}>
          {account.status === "suspended" ? "Resume…" : "Suspend…"}
        </button>
      </div>
    </div>
  );
}

function Identities({ session, account }: { readonly session: Session; readonly account: OperatorAccount }) {
  if (account.kind === "organisation")
    return (
      <p className="muted small">
        No one signs in to an organisation. Its members sign in to their own accounts.
      </p>
    );
  return (
    <section className="stack tight" aria-labelledby="account-identities">
      <h3 id="account-identities">Sign-in methods</h3>
      <ul className="panel-rows">
        {account.identities.map(({ provider, issuer, subject, login, email, last_sign_in_at }) => (
          <li key={`${issuer} ${subject}`} className="grant">
            <ProviderIcon kind={provider} />
            <div className="grant-text">
              <strong className="break-words">{providerName(session, provider)}</strong>
              <span className="break-words">
                {[login, email].filter((text) => text !== null).join(" · ")}
              </span>
              <code className="break-words">
                {provider}:{subject}
              </code>
              <span className="muted small">
                Last used <Timestamp at={last_sign_in_at} />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
