import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretVersion } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { ActionMenu, type MenuAction } from "../../design/menu.tsx";
import { RelativeTime } from "../../design/relative-time.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { usePagedList } from "../../vault-api/use-paged-list.ts";
import { ProposeForm } from "../approvals/approval-dialog.tsx";
import { explainApproval } from "../approvals/explain-approval.ts";
import { proposeRestoredVersion } from "../approvals/proposal.ts";
import { useApproval } from "../approvals/use-approval.ts";
import { secretPath } from "./api-paths.ts";
import type { FormatActor } from "./format-actor.ts";
import { describeSaveError } from "./save-secret.ts";
import { isBinary } from "./secret-draft.ts";
import { ValueView } from "./value-view.tsx";
import { useAccess } from "./vault-access.ts";
import { VersionDiff } from "./version-diff.tsx";

export type HistoryProps = {
  readonly vaultId: string;
  readonly secret: SecretMetadata;
  readonly formatActor: FormatActor;
  readonly onChanged: (secret?: SecretMetadata) => void;
};

type OpenVersion = { readonly version: SecretVersion; readonly view: "value" | "diff" | "destroy" };

/** All versions; earlier ones can be viewed, compared with the current one, restored and destroyed. */
export function History({ vaultId, secret, formatActor, onChanged }: HistoryProps) {
  const versions = usePagedList<SecretVersion>(`${secretPath(vaultId, secret.id)}/versions`);
  const [open, setOpen] = useState<OpenVersion>();
  const { showToast } = useToasts();
  const restoring = useMutation();
  const { proposal, attempt, discard } = useApproval();
  const restore = async (version: number): Promise<void> => {
    const path = `${secretPath(vaultId, secret.id)}/versions/${version}/restore`;
    const { body } = await request<SecretMetadata>(path, { method: "POST", revision: secret.revision });
    showToast(`Version ${version} restored as version ${body.version}`);
    onChanged(body);
  };
  const restoreOrPropose = (version: number): Promise<void> =>
    attempt(
      () => restore(version),
      () => proposeRestoredVersion(vaultId, secret, version),
    );
  if (versions.state === "loading") return <Loading lines={3} label="Loading history" />;
  if (versions.state === "failed")
    return <ErrorNotice text={versions.error?.message ?? ""} onRetry={versions.reload} />;
  return (
    <div className="stack tight">
      {restoring.error !== undefined && <ErrorNotice text={describeSaveError(restoring.error)} />}
      <ul className="versions">
        {versions.items.map((version) => (
          <VersionRow
            key={version.version}
            {...{ vaultId, secret, version, formatActor }}
            openView={open?.version.version === version.version ? open.view : undefined}
            onOpen={(view) => setOpen(view === undefined ? undefined : { version, view })}
            onRestore={() => void restoring.run(() => restoreOrPropose(version.version))}
          />
        ))}
      </ul>
      {versions.hasMore && (
        <button type="button" className="button" onClick={versions.loadMore}>
          Show older versions
        </button>
      )}
      {proposal !== undefined && (
        <Dialog title="Propose change" onClose={discard}>
          <ProposeForm {...{ vaultId, proposal }} onBack={discard} onClose={discard} />
        </Dialog>
      )}
      {open?.view === "destroy" && (
        <DestroyVersionDialog
          {...{ vaultId, secret }}
          version={open.version.version}
          onClose={() => setOpen(undefined)}
          onDestroyed={() => {
            setOpen(undefined);
            onChanged();
          }}
        />
      )}
    </div>
  );
}

type VersionRowProps = Pick<HistoryProps, "vaultId" | "secret" | "formatActor"> & {
  readonly version: SecretVersion;
  readonly openView: OpenVersion["view"] | undefined;
  readonly onOpen: (view: OpenVersion["view"] | undefined) => void;
  readonly onRestore: () => void;
};

function VersionRow(props: VersionRowProps) {
  const { vaultId, secret, version, formatActor, openView, onOpen } = props;
  const isCurrent = version.version === secret.version;
  const isDestroyed = version.destroyed_at !== undefined;
  const actions = useVersionActions(props);
  const secretAtVersion = { ...secret, type: version.type, size: version.size };
  return (
    <li className="version">
      <div className="row spread">
        <span>
          <strong>Version {version.version}</strong>
          {isCurrent && <span className="badge success">Current</span>}
          {isDestroyed && <span className="badge">Destroyed</span>}
          <span className="muted small break-words">
            {formatActor(version.created_by)}, <RelativeTime at={version.created_at} />
          </span>
        </span>
        {!isCurrent && !isDestroyed && actions.length > 0 && (
          <ActionMenu label={`More actions for version ${version.version}`} actions={actions} />
        )}
      </div>
      {openView === "value" && (
        <ValueView {...{ vaultId }} secret={secretAtVersion} version={version.version} isSecondary />
      )}
      {openView === "diff" && (
        <VersionDiff {...{ vaultId, secret }} version={version.version} onClose={() => onOpen(undefined)} />
      )}
    </li>
  );
}

function useVersionActions(props: VersionRowProps): readonly MenuAction[] {
  const { secret, version, openView, onOpen, onRestore } = props;
  const { allows } = useAccess();
  const isText = !isBinary(version.type) && !isBinary(secret.type);
  const view = {
    label: openView === "value" ? "Close" : "View",
    onSelect: () => onOpen(openView === "value" ? undefined : "value"),
  };
  const compare = { label: "Compare with current", onSelect: () => onOpen("diff") };
  const destroy = { label: "Destroy…", onSelect: () => onOpen("destroy"), isDangerous: true };
  return [
    ...(allows("secrets:read", secret.path) ? [view, ...(isText ? [compare] : [])] : []),
    ...(allows("secrets:write", secret.path) ? [{ label: "Restore", onSelect: onRestore }] : []),
    ...(allows("secrets:destroy", secret.path) ? [destroy] : []),
  ];
}

type DestroyVersionDialogProps = Pick<HistoryProps, "vaultId" | "secret"> & {
  readonly version: number;
  readonly onDestroyed: () => void;
  readonly onClose: () => void;
};

function DestroyVersionDialog(props: DestroyVersionDialogProps) {
  const { vaultId, secret, version, onDestroyed, onClose } = props;
  const mutation = useMutation();
  const destroy = async (): Promise<void> => {
    const path = `${secretPath(vaultId, secret.id)}/versions/${version}`;
    await explainApproval(
      request(path, { method: "DELETE", revision: secret.revision }),
      "This secret is protected, so its versions cannot be destroyed. Remove its protection in the vault settings first.",
    );
    onDestroyed();
  };
  return (
    <ConfirmDialog
      title={`Destroy version ${version}?`}
      action="Destroy"
      mutation={mutation}
      onConfirm={() => void mutation.run(destroy)}
      onClose={onClose}
    >
      The value of this version is erased immediately. This cannot be undone. The history keeps its entry.
    </ConfirmDialog>
  );
}
