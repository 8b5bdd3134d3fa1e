/**
 * @module
 * Accounts, for operators: the list of accounts, how people sign in to one, and its suspension. Operators see nothing that
 * is in an account.
 * Shown by `screens.tsx`.
 */
import { ErrorNotice, Link, Loading, Notice, navigate, useLocation } from "@hearth-and-keep/page-design";
import type { OperatorAccount, Session } from "@hearth-and-keep/vault-contract";
import { useEffect } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { SelectField } from "../../design/field.tsx";
import { AccountIcon, OrganisationIcon } from "../../design/icons.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { usePagedList } from "../../vault-api/use-paged-list.ts";
import { onInvalidate } from "../../vault-api/use-query.ts";
import { formatQuery } from "../secrets/api-paths.ts";
import { AccountPanel } from "./account-panel.tsx";
import { AccountStatus } from "./account-status.tsx";
import { accountsHref, accountsPath, readStatus, statusOptions } from "./accounts-location.ts";

export default function AccountsScreen({ session }: { readonly session: Session }) {
  const { query } = useLocation();
  const status = readStatus(query);
  const accountId = query.get("account") ?? undefined;
  const path = `${accountsPath}${formatQuery({ status: status === "" ? undefined : status })}`;
  const accounts = usePagedList<OperatorAccount>(path);
  const { reload } = accounts;
  useEffect(() => onInvalidate(path, reload), [path, reload]);
  return (
    <>
      <div className="screen-header">
        <div>
          <h1>Accounts</h1>
          <p className="muted">
            Everyone who can sign in, and all organisations. You see nothing that is in them.
          </p>
        </div>
      </div>
      <div className="stack">
        <div className="accounts-filter">
          <SelectField
            label="Status"
            value={status}
            options={statusOptions}
            onChange={(chosen) => navigate(accountsHref({ status: chosen }), { replace: true })}
          />
        </div>
        {accounts.state === "loading" && <Loading label="Loading accounts" />}
        {accounts.error !== undefined && accounts.error.code === "operator_required" && (
          <Notice>Only operators of this Keep can see accounts.</Notice>
        )}
        {accounts.error !== undefined && accounts.error.code !== "operator_required" && (
          <ErrorNotice text={accounts.error.message} onRetry={reload} />
        )}
        {accounts.state === "loaded" && accounts.items.length === 0 && (
          <EmptyState title="No accounts">No account has this status.</EmptyState>
        )}
        {accounts.items.length > 0 && <AccountRows accounts={accounts.items} status={status} />}
        {accounts.hasMore && (
          <div>
            <button type="button" className="button" onClick={accounts.loadMore}>
              Show more accounts
            </button>
          </div>
        )}
      </div>
      {accountId !== undefined && (
        <AccountPanel
          key={accountId}
          {...{ session, accountId }}
          onClose={() => navigate(accountsHref({ status }))}
        />
      )}
    </>
  );
}

type AccountRowsProps = { readonly accounts: readonly OperatorAccount[]; readonly status: string };

function AccountRows({ accounts, status }: AccountRowsProps) {
  return (
    <ul className="card records" aria-label="Accounts">
      {accounts.map((account) => (
        <li key={account.id} className="record account-record">
          <span className="record-name">
            {account.kind === "organisation" ? <OrganisationIcon /> : <AccountIcon />}
            <Link className="break-words" to={accountsHref({ status, account: account.id })}>
              {account.display_name}
            </Link>
          </span>
          <span className="record-badges">
            <AccountStatus account={account} />
            {account.is_operator && <span className="badge">Operator</span>}
          </span>
          <span className="muted small">{account.kind === "organisation" ? "Organisation" : "Person"}</span>
          <span className="record-date muted small">
            Created <Timestamp at={account.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
