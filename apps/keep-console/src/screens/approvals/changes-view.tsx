/**
 * @module
 * Changes of protected paths that a second person approves: the lists of pending and decided ones, one change with what it
 * does and the decision, and the form with which every action of the console proposes a change when its request needs an
 * approval. A decision sends the fingerprint of what is shown. Values are fetched on demand and never cached.
 * Imported by the secrets screen.
 */
import { ErrorNotice, Link, Loading } from "@hearth-and-keep/page-design";
import type { ChangeSummary, Session, Vault } from "@hearth-and-keep/vault-contract";
import { useEffect } from "react";
import { EmptyState } from "../../design/empty-state.tsx";
import { TabLinks } from "../../design/tab-links.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { usePagedList } from "../../vault-api/use-paged-list.ts";
import { onInvalidate } from "../../vault-api/use-query.ts";
import { type FormatActor, inSentence } from "../secrets/format-actor.ts";
import { hrefOf, navigateTo, type SecretsLocation } from "../secrets/secrets-location.ts";
import { ChangePanel } from "./change-panel.tsx";
import { ChangeState } from "./change-state.tsx";
import { changesPath } from "./changes-path.ts";
import { countOperations } from "./describe-change.ts";

export type ChangesViewProps = {
  readonly session: Session;
  readonly vault: Vault;
  readonly location: SecretsLocation;
  readonly formatActor: FormatActor;
};

export default function ChangesView({ session, vault, location, formatActor }: ChangesViewProps) {
  const { changeId, isDecided } = location;
  const target = { vaultId: vault.id, view: "changes" } as const;
  return (
    <>
      <nav className="breadcrumbs" aria-label="Folders">
        <Link to={hrefOf({ vaultId: vault.id })}>All secrets</Link>
        <span aria-current="page">Changes</span>
      </nav>
      <TabLinks
        label="Changes by state"
        links={[
          { to: hrefOf(target), label: "Pending", isCurrent: !isDecided },
          { to: hrefOf({ ...target, isDecided: true }), label: "Decided", isCurrent: isDecided },
        ]}
      />
      <ChangeList {...{ location, formatActor }} vaultId={vault.id} />
      {changeId !== undefined && (
        <ChangePanel
          key={changeId}
          {...{ session, vault, changeId, formatActor }}
          onClose={() => navigateTo(location, { changeId: undefined })}
        />
      )}
    </>
  );
}

type ChangeListProps = Pick<ChangesViewProps, "location" | "formatActor"> & { readonly vaultId: string };

function ChangeList({ vaultId, location, formatActor }: ChangeListProps) {
  const { isDecided } = location;
  const path = `${changesPath(vaultId)}${isDecided ? "?state=decided" : ""}`;
  const changes = usePagedList<ChangeSummary>(path);
  const { reload } = changes;
  useEffect(() => onInvalidate(path, reload), [path, reload]);
  if (changes.state === "loading" || changes.isStale) return <Loading label="Loading changes" />;
  if (changes.state === "failed") return <ErrorNotice text={changes.error?.message ?? ""} onRetry={reload} />;
  if (changes.items.length === 0) {
    return (
      <EmptyState title={isDecided ? "No decided changes" : "No pending changes"}>
        {isDecided
          ? "Changes that were approved, rejected or withdrawn, or have expired, are listed here for 90 days."
          : "Edit, move or delete a secret at a protected path, and you can propose the change here to another person. Protected paths are in the vault settings."}
      </EmptyState>
    );
  }
  return (
    <div className="stack">
      <ul className="card records" aria-label={isDecided ? "Decided changes" : "Pending changes"}>
        {changes.items.map((change) => (
          <ChangeRow
            key={change.id}
            {...{ change, formatActor }}
            to={hrefOf({ vaultId, view: "changes", isDecided, changeId: change.id })}
          />
        ))}
      </ul>
      {changes.hasMore && (
        <div>
          <button type="button" className="button" onClick={changes.loadMore}>
            Show older changes
          </button>
        </div>
      )}
    </div>
  );
}

type ChangeRowProps = {
  readonly change: ChangeSummary;
  readonly to: string;
  readonly formatActor: FormatActor;
};

function ChangeRow({ change, to, formatActor }: ChangeRowProps) {
  const { state, reason, proposed_by, proposed_at, expires_at, decided_by, decided_at } = change;
  return (
    <li className="record change">
      <div className="change-text">
        <Link className="break-words" to={to}>
          {reason}
        </Link>
        <span className="muted small break-words">
          {countOperations(change)}, proposed by {inSentence(formatActor(proposed_by))}{" "}
          <Timestamp at={proposed_at} />
        </span>
      </div>
      <span className="change-state muted small">
        {state !== "pending" && <ChangeState state={state} />}
        {state === "pending" && (
          <span>
            Expires <Timestamp at={expires_at} />
          </span>
        )}
        {decided_by !== null && decided_at !== null && (
          <span className="break-words">
            {state === "expired" ? "" : `by ${inSentence(formatActor(decided_by))} `}
            <Timestamp at={decided_at} />
          </span>
        )}
      </span>
    </li>
  );
}
