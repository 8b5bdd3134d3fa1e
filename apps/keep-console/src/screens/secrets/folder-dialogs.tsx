import { ConfirmContent } from "../../design/confirm-dialog.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { ApprovalDialog } from "../approvals/approval-dialog.tsx";
import { proposeFolderChange } from "../approvals/proposal.ts";
import { useApproval } from "../approvals/use-approval.ts";
import { formatQuery, vaultPath } from "./api-paths.ts";
import { NameDialog } from "./name-dialog.tsx";
import { readVaultRevision } from "./save-secret.ts";
import { joinPath } from "./secrets-location.ts";
import { readFolderContents, useUndoDelete } from "./use-undo-delete.ts";

export type FolderDialog =
  | { readonly kind: "new-folder"; readonly parent: string }
  | { readonly kind: "move-folder"; readonly path: string }
  | { readonly kind: "delete-folder"; readonly path: string };

export type FolderDialogsProps = {
  readonly vaultId: string;
  readonly dialog: FolderDialog;
  readonly onDone: () => void;
  readonly onClose: () => void;
};

export function FolderDialogs({ vaultId, dialog, onDone, onClose }: FolderDialogsProps) {
  const folders = `${vaultPath(vaultId)}/folders`;
  if (dialog.kind === "delete-folder")
    return <DeleteFolderDialog {...{ vaultId, onDone, onClose }} path={dialog.path} />;
  if (dialog.kind === "new-folder") {
    return (
      <NameDialog
        title="New folder"
        label="Name"
        hint={dialog.parent === "/" ? "At the top level of the vault" : `In ${dialog.parent}`}
        action="Create folder"
        conflictMessage="A folder with this name already exists."
        onClose={onClose}
        onSubmit={async (name) => {
          const body = { path: joinPath(dialog.parent, name) };
          await request(folders, { method: "POST", body, revision: "new" });
          onDone();
        }}
      />
    );
  }
  return (
    <NameDialog
      title="Move or rename folder"
      label="Path"
      hint="Moves everything in the folder. Programs that use the old paths stop finding it."
      action="Move"
      initialName={dialog.path}
      protection={{ vaultId, propose: (to) => proposeFolderChange(vaultId, dialog.path, to) }}
      onClose={onClose}
      onSubmit={async (to) => {
        const revision = await readVaultRevision(vaultId);
        await request(`${folders}/move`, { method: "POST", body: { from: dialog.path, to }, revision });
        onDone();
      }}
    />
  );
}

type DeleteFolderDialogProps = Omit<FolderDialogsProps, "dialog"> & { readonly path: string };

function DeleteFolderDialog({ vaultId, path, onDone, onClose }: DeleteFolderDialogProps) {
  const mutation = useMutation();
  const approval = useApproval();
  const showUndo = useUndoDelete(vaultId);
  const deleteFolder = async (): Promise<void> => {
    const query = formatQuery({ path, recursive: "true" });
    const revision = await readVaultRevision(vaultId);
    const contents = await readFolderContents(vaultId, path);
    const { body } = await request<{ secrets: number }>(`${vaultPath(vaultId)}/folders${query}`, {
      method: "DELETE",
      revision,
    });
    const secrets = body.secrets === 1 ? "1 secret" : `${body.secrets} secrets`;
    const name = path.split("/").at(-1) ?? path;
    showUndo(`Deleted folder ${name}${body.secrets === 0 ? "" : ` with ${secrets}`}`, contents);
    onDone();
  };
  return (
    <ApprovalDialog {...{ vaultId, approval, onClose }} title={`Delete the folder ${path}?`}>
      <ConfirmContent
        action="Delete folder"
        mutation={mutation}
        onConfirm={() =>
          void mutation.run(() => approval.attempt(deleteFolder, () => proposeFolderChange(vaultId, path)))
        }
      >
        Deletes every secret in this folder and its subfolders. Programs can no longer read them. You can
        restore the secrets from Recently deleted for 30 days.
      </ConfirmContent>
    </ApprovalDialog>
  );
}
