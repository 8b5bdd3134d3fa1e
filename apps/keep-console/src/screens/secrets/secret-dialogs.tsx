import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { ConfirmContent } from "../../design/confirm-dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { ApprovalDialog } from "../approvals/approval-dialog.tsx";
import { explainApproval } from "../approvals/explain-approval.ts";
import { proposeDeletion, proposeMove } from "../approvals/proposal.ts";
import { useApproval } from "../approvals/use-approval.ts";
import { secretPath } from "./api-paths.ts";
import { NameDialog } from "./name-dialog.tsx";
import { useUndoDelete } from "./use-undo-delete.ts";

/** `purge` deletes a secret permanently. */
export type SecretDialog = {
  readonly kind: "move" | "delete" | "purge";
  readonly secret: SecretMetadata;
};

export type SecretDialogsProps = {
  readonly vaultId: string;
  readonly dialog: SecretDialog;
  /** Receives the secret as it is now; undefined when it was deleted. */
  readonly onDone: (secret: SecretMetadata | undefined) => void;
  readonly onClose: () => void;
};

export function SecretDialogs({ vaultId, dialog, onDone, onClose }: SecretDialogsProps) {
  const { showToast } = useToasts();
  const { secret } = dialog;
  if (dialog.kind !== "move") return <DeleteSecretDialog {...{ vaultId, dialog, onDone, onClose }} />;
  return (
    <NameDialog
      title={`Move or rename ${secret.name}`}
      label="Path"
      hint="Programs that read it by its old path stop finding it."
      action="Move"
      initialName={secret.path}
      protection={{ vaultId, propose: (path) => proposeMove(secret, path) }}
      onClose={onClose}
      onSubmit={async (path) => {
        const slash = path.lastIndexOf("/");
        const body = { folder: path.slice(0, Math.max(0, slash)) || "/", name: path.slice(slash + 1) };
        const options = { method: "PATCH", body, revision: secret.revision } as const;
        const moved = await request<SecretMetadata>(secretPath(vaultId, secret.id), options);
        showToast(`Moved to ${moved.body.path}`);
        onDone(moved.body);
      }}
    />
  );
}

function DeleteSecretDialog({ vaultId, dialog, onDone, onClose }: SecretDialogsProps) {
  const mutation = useMutation();
  const approval = useApproval();
  const { showToast } = useToasts();
  const showUndo = useUndoDelete(vaultId);
  const { secret } = dialog;
  const isPermanent = dialog.kind === "purge";
  const path = `${secretPath(vaultId, secret.id)}${isPermanent ? "?purge=true" : ""}`;
  const deleteSecret = async (): Promise<void> => {
    await request(path, { method: "DELETE", revision: secret.revision });
    if (isPermanent) showToast(`${secret.name} deleted permanently`);
    else showUndo(`Deleted ${secret.name}`, { secrets: [secret], folders: [] });
    onDone(undefined);
  };
  const purge = (): Promise<void> =>
    explainApproval(
      deleteSecret(),
      "This secret is protected, so it cannot be deleted permanently. It is erased 30 days after its deletion, or once you have removed its protection in the vault settings.",
    );
  const deleteOrPropose = (): Promise<void> => approval.attempt(deleteSecret, () => proposeDeletion(secret));
  return (
    <ApprovalDialog
      {...{ vaultId, approval, onClose }}
      title={isPermanent ? `Permanently delete ${secret.name}?` : `Delete ${secret.name}?`}
    >
      <ConfirmContent
        action={isPermanent ? "Delete permanently" : "Delete"}
        mutation={mutation}
        onConfirm={() => void mutation.run(isPermanent ? purge : deleteOrPropose)}
      >
        {isPermanent
          ? "All versions are erased immediately. This cannot be undone."
          : "Programs can no longer read it. You can restore it from Recently deleted for 30 days."}
      </ConfirmContent>
    </ApprovalDialog>
  );
}
