import { ErrorNotice, Link, Loading } from "@hearth-and-keep/page-design";
import type { Change, Session, Vault } from "@hearth-and-keep/vault-contract";
import { SidePanel } from "../../design/side-panel.tsx";
import { Timestamp } from "../../design/timestamp.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { type FormatActor, inSentence } from "../secrets/format-actor.ts";
import { useAccess } from "../secrets/vault-access.ts";
import { ChangeContents } from "./change-contents.tsx";
import { ChangeState } from "./change-state.tsx";
import { changePath } from "./changes-path.ts";
import { Decision } from "./decision.tsx";

export type ChangePanelProps = {
  readonly session: Session;
  readonly vault: Vault;
  readonly changeId: string;
  readonly formatActor: FormatActor;
  readonly onClose: () => void;
};

/** One change: why and by whom, what it does while it is pending, and the decision. */
export function ChangePanel({ session, vault, changeId, formatActor, onClose }: ChangePanelProps) {
  const change = useQuery<Change>(changePath(vault.id, changeId));
  return (
    <SidePanel title="Proposed change" onClose={onClose}>
      {change.state === "loading" && <Loading />}
      {change.state === "failed" && (
        <ErrorNotice
          text={
            change.error.code === "not_found"
              ? "Change not found. It may concern paths that are not shared with you."
              : change.error.message
          }
          onRetry={change.reload}
        />
      )}
      {change.state === "loaded" && (
        <div className="stack">
          <ChangeDetails {...{ formatActor }} change={change.body} />
          {change.body.state === "pending" ? (
            <ChangeContents vaultId={vault.id} change={change.body} />
          ) : (
            <DecidedNote vaultId={vault.id} />
          )}
          <Decision {...{ session, vault }} change={change.body} />
        </div>
      )}
    </SidePanel>
  );
}

type ChangeDetailsProps = { readonly change: Change; readonly formatActor: FormatActor };

function ChangeDetails({ change, formatActor }: ChangeDetailsProps) {
  const { state, reason, proposed_by, proposed_at, expires_at, decided_by, decided_at } = change;
  return (
    <dl className="properties change-details">
      <dt>Reason</dt>
      <dd className="break-words">{reason}</dd>
      <dt>State</dt>
      <dd>
        <ChangeState state={state} />
      </dd>
      <dt>Proposed</dt>
      <dd className="break-words">
        <Timestamp at={proposed_at} /> by {inSentence(formatActor(proposed_by))}
      </dd>
      {state === "pending" && (
        <>
          <dt>Expires</dt>
          <dd>
            <Timestamp at={expires_at} />
          </dd>
        </>
      )}
      {decided_by !== null && decided_at !== null && (
        <>
          <dt>Decided</dt>
          <dd className="break-words">
            <Timestamp at={decided_at} />
            {state === "expired" ? "" : ` by ${inSentence(formatActor(decided_by))}`}
          </dd>
        </>
      )}
    </dl>
  );
}

function DecidedNote({ vaultId }: { readonly vaultId: string }) {
  const { allows } = useAccess();
  return (
    <p className="muted">
      What a decided change does is not kept here.{" "}
      {allows("audit:read") && <Link to={`/audit?vault=${vaultId}`}>See the audit log</Link>}
    </p>
  );
}
