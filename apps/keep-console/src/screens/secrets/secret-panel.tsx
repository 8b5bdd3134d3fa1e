import { Failed, Loading, Notice } from "@hearth-and-keep/page-design";
import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { Menu } from "../../design/menu.tsx";
import { Moment } from "../../design/moment.tsx";
import { SidePanel } from "../../design/side-panel.tsx";
import { useAnswer } from "../../vault-api/use-query.ts";
import { secretPath } from "./api-paths.ts";
import { EditSecret } from "./edit-secret.tsx";
import type { SayWho } from "./format-actor.ts";
import { History } from "./history.tsx";
import type { SecretDeed } from "./secret-dialogs.tsx";
import { saySize } from "./value-bytes.ts";
import { ValueView } from "./value-view.tsx";

export type SecretPanelProps = {
  readonly vaultId: string;
  readonly secretId: string;
  /** As the list has it, to be shown at once. */
  readonly known: SecretMetadata | undefined;
  readonly who: SayWho;
  /** With what it is now, when that is known. */
  readonly onChanged: (secret?: SecretMetadata) => void;
  readonly onDeed: (deed: SecretDeed) => void;
  readonly onRestore: (secret: SecretMetadata) => void;
  readonly onClose: () => void;
};

/** Everything about one secret: its value, what belongs to it, and its history. */
export function SecretPanel(props: SecretPanelProps) {
  const { vaultId, secretId, known, onClose } = props;
  const isDeleted = known?.deleted_at !== undefined;
  const answer = useAnswer<SecretMetadata>(isDeleted ? undefined : secretPath(vaultId, secretId));
  const read = answer.state === "there" ? answer.body : undefined;
  const secret = read === undefined || (known?.revision ?? 0) > read.revision ? known : read;
  if (isDeleted) return <DeletedPanel {...props} secret={known} />;
  if (answer.state === "failed") {
    const isGone = answer.problem.status === 404;
    return (
      <SidePanel title="Secret" onClose={onClose}>
        <Failed
          text={isGone ? "This secret is not here. It may be in Recently deleted." : answer.problem.message}
          onRetry={answer.reload}
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
  const { secret, who, onRestore, onDeed, onClose } = props;
  return (
    <SidePanel title={secret.name} onClose={onClose}>
      <div className="stack">
        <Notice kind="warn">
          It is deleted, and no program can read it. Restore it to see its value; 30 days after it was deleted
          it is erased.
        </Notice>
        <div className="row">
          <button type="button" className="button main" onClick={() => onRestore(secret)}>
            Restore
          </button>
          <button type="button" className="button" onClick={() => onDeed({ kind: "purge", secret })}>
            Delete for good…
          </button>
        </div>
        <Facts secret={secret} who={who} />
      </div>
    </SidePanel>
  );
}

function PanelContent(props: SecretPanelProps & { readonly secret: SecretMetadata }) {
  const { vaultId, secret, who, onChanged, onDeed, onClose } = props;
  const [isEditing, setIsEditing] = useState(false);
  if (isEditing) {
    return (
      <EditSecret
        vaultId={vaultId}
        secretId={secret.id}
        who={who}
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
      <section className="stack tight" aria-label="Value">
        {/* Another version is another value: what is shown of the old one goes. */}
        <ValueView key={secret.version} vaultId={vaultId} secret={secret} />
      </section>
      <div className="row">
        <button type="button" className="button" onClick={() => setIsEditing(true)}>
          Edit
        </button>
        <Menu
          label={`More for ${secret.name}`}
          choices={[
            { label: "Move or rename…", onChoose: () => onDeed({ kind: "move", secret }) },
            { label: "Delete…", onChoose: () => onDeed({ kind: "delete", secret }), isDangerous: true },
          ]}
        />
      </div>
      <Facts secret={secret} who={who} />
      <section className="stack tight" aria-label="History">
        <h2>History</h2>
        <History key={secret.revision} {...{ vaultId, secret, who, onChanged }} />
      </section>
    </div>
  );
}

function Facts({ secret, who }: { readonly secret: SecretMetadata; readonly who: SayWho }) {
  return (
    <dl className="facts">
      <dt>Path</dt>
      <dd className="fixed breaks">{secret.path}</dd>
      <dt>Kind</dt>
      <dd>
        {secret.type}, {saySize(secret.size)}
      </dd>
      <dt>Tags</dt>
      <dd className="row">
        {secret.tags.length === 0
          ? "None"
          : secret.tags.map((tag) => (
              <span key={tag} className="badge breaks">
                {tag}
              </span>
            ))}
      </dd>
      <dt>Note</dt>
      <dd>{secret.has_note ? "Shown with the value" : "None"}</dd>
      <dt>Updated</dt>
      <dd className="breaks">
        <Moment at={secret.updated_at} />, {who(secret.updated_by)}
      </dd>
    </dl>
  );
}
