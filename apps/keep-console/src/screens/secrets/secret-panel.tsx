import { ErrorNotice, Link, Loading, Notice } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ActionMenu } from "../../design/menu.tsx";
import { RelativeTime } from "../../design/relative-time.tsx";
import { SidePanel } from "../../design/side-panel.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { hrefOfLog } from "../audit/log-search.ts";
import { secretPath } from "./api-paths.ts";
import { EditSecret } from "./edit-secret.tsx";
import { type FormatActor, inSentence } from "./format-actor.ts";
import { History } from "./history.tsx";
import type { SecretDialog } from "./secret-dialogs.tsx";
import { formatBytes } from "./value-bytes.ts";
import { secretTypeLabels } from "./value-editor.tsx";
import { ValueView } from "./value-view.tsx";
import { useAccess } from "./vault-access.ts";

export type SecretPanelProps = {
  readonly vaultId: string;
  readonly secretId: string;
  /** From the list, shown until the response arrives. */
  readonly listed: SecretMetadata | undefined;
  readonly formatActor: FormatActor;
  /** Receives the secret as it is now, if known. */
  readonly onChanged: (secret?: SecretMetadata) => void;
  readonly onOpenDialog: (dialog: SecretDialog) => void;
  readonly onRestore: (secret: SecretMetadata) => void;
  readonly onClose: () => void;
};

/** Value, details and history of one secret. */
export function SecretPanel(props: SecretPanelProps) {
  const { vaultId, secretId, listed, onClose } = props;
  const isDeleted = listed?.deleted_at !== undefined;
  const query = useQuery<SecretMetadata>(isDeleted ? undefined : secretPath(vaultId, secretId));
  const loaded = query.state === "loaded" ? query.body : undefined;
  const secret = loaded === undefined || (listed?.revision ?? 0) > loaded.revision ? listed : loaded;
  if (isDeleted) return <DeletedPanel {...props} secret={listed} />;
  if (query.state === "failed") {
    const isMissing = query.error.code === "not_found";
    return (
      <SidePanel title="Secret" onClose={onClose}>
        <ErrorNotice
          text={isMissing ? "Secret not found. It may be in Recently deleted." : query.error.message}
          onRetry={query.reload}
        />
      </SidePanel>
    );
  }
  return (
    <SidePanel title={secret?.name ?? "Secret"} onClose={onClose}>
      {secret === undefined ? <Loading /> : <PanelContent {...props} secret={secret} />}
    </SidePanel>
  );
}

function DeletedPanel(props: SecretPanelProps & { readonly secret: SecretMetadata }) {
  const { secret, formatActor, onRestore, onOpenDialog, onClose } = props;
  const { allows } = useAccess();
  return (
    <SidePanel title={secret.name} onClose={onClose}>
      <div className="stack">
        <Notice kind="warning">
          Deleted. Programs cannot read this secret. You can restore it for 30 days after its deletion.
        </Notice>
        <div className="row">
          {allows("secrets:write", secret.path) && (
            <button type="button" className="button primary" onClick={() => onRestore(secret)}>
              Restore
            </button>
          )}
          {allows("secrets:destroy", secret.path) && (
            <button type="button" className="button" onClick={() => onOpenDialog({ kind: "purge", secret })}>
              Delete permanently…
            </button>
          )}
        </div>
        <SecretDetails secret={secret} formatActor={formatActor} />
      </div>
    </SidePanel>
  );
}

function PanelContent(props: SecretPanelProps & { readonly secret: SecretMetadata }) {
  const { vaultId, secret, formatActor, onChanged, onOpenDialog, onClose } = props;
  const [isEditing, setIsEditing] = useState(false);
  const { allows } = useAccess();
  if (isEditing) {
    return (
      <EditSecret
        vaultId={vaultId}
        secretId={secret.id}
        formatActor={formatActor}
        onCancel={() => setIsEditing(false)}
        onSaved={(saved) => {
          setIsEditing(false);
          onChanged(saved);
          if (saved === undefined || saved.id !== secret.id) onClose();
        }}
      />
    );
  }
  return (
    <div className="stack">
      {allows("secrets:read", secret.path) && (
        <section className="stack tight" aria-label="Value">
          {/* Keyed by version: a new version discards the revealed value of the old one. */}
          <ValueView key={secret.version} vaultId={vaultId} secret={secret} />
        </section>
      )}
      <PanelActions {...{ secret, onOpenDialog }} onEdit={() => setIsEditing(true)} />
      <SecretDetails secret={secret} formatActor={formatActor} />
      <section className="stack tight" aria-label="History">
        <div className="history-header">
          <h2>History</h2>
          {allows("audit:read", secret.path) && (
            <Link to={hrefOfLog(vaultId, { secret: secret.id })}>Audit log</Link>
          )}
        </div>
        <History key={secret.revision} {...{ vaultId, secret, formatActor, onChanged }} />
      </section>
    </div>
  );
}

type PanelActionsProps = Pick<SecretPanelProps, "onOpenDialog"> & {
  readonly secret: SecretMetadata;
  readonly onEdit: () => void;
};

function PanelActions({ secret, onOpenDialog, onEdit }: PanelActionsProps) {
  const { allows } = useAccess();
  const canWrite = allows("secrets:write", secret.path);
  const move = { label: "Move or rename…", onSelect: () => onOpenDialog({ kind: "move", secret }) };
  const remove = {
    label: "Delete…",
    onSelect: () => onOpenDialog({ kind: "delete", secret }),
    isDangerous: true,
  };
  const actions = [...(canWrite ? [move] : []), ...(allows("secrets:delete", secret.path) ? [remove] : [])];
  if (!canWrite && actions.length === 0) return null;
  return (
    <div className="row">
      {canWrite && allows("secrets:read", secret.path) && (
        <button type="button" className="button" onClick={onEdit}>
          Edit
        </button>
      )}
      {actions.length > 0 && <ActionMenu label={`More actions for ${secret.name}`} actions={actions} />}
    </div>
  );
}

function SecretDetails({
  secret,
  formatActor,
}: {
  readonly secret: SecretMetadata;
  readonly formatActor: FormatActor;
}) {
  return (
    <dl className="properties">
      <dt>Path</dt>
      <dd className="mono break-words">{secret.path}</dd>
      <dt>Type</dt>
      <dd>
        {secretTypeLabels[secret.type]}, {formatBytes(secret.size)}
      </dd>
      <dt>Tags</dt>
      <dd className="row">
        {secret.tags.length === 0
          ? "None"
          : secret.tags.map((tag) => (
              <span key={tag} className="badge break-words">
                {tag}
              </span>
            ))}
      </dd>
      <dt>Note</dt>
      <dd>{secret.has_note ? "Shown with the value" : "None"}</dd>
      <dt>Updated</dt>
      <dd className="break-words">
        <RelativeTime at={secret.updated_at} /> by {inSentence(formatActor(secret.updated_by))}
      </dd>
    </dl>
  );
}
