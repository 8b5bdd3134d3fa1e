import { navigate } from "@hearth-and-keep/page-design";
import type { ImportReport, SecretMetadata, Session, VaultDetail } from "@hearth-and-keep/vault-contract";
import { loadLater } from "../../design/load-later.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { vaultsPath } from "./api-paths.ts";
import type { BulkDialog } from "./bulk-dialogs.tsx";
import { DeletedVaults } from "./deleted-vaults.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { type FolderDialog, FolderDialogs } from "./folder-dialogs.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { NameDialog } from "./name-dialog.tsx";
import { NewSecretDialog } from "./new-secret.tsx";
import { type SecretDialog, SecretDialogs } from "./secret-dialogs.tsx";
import { hrefOf, navigateTo, type SecretsLocation } from "./secrets-location.ts";
import type { VaultContents } from "./vault-contents.ts";

const BulkDialogs = loadLater(() => import("./bulk-dialogs.tsx"));
const VaultSettings = loadLater(() => import("./vault-settings.tsx"));

/** The dialog that is open; at most one at a time. */
export type OpenDialog =
  | BulkDialog
  | FolderDialog
  | SecretDialog
  | { readonly kind: "new-secret" | "import" | "new-vault" | "vault-settings" | "deleted-vaults" };

export type DialogsProps = {
  readonly session: Session;
  readonly location: SecretsLocation;
  readonly vaultId: string;
  readonly dialog: OpenDialog | undefined;
  readonly contents: VaultContents;
  readonly onOpenDialog: (dialog: OpenDialog | undefined) => void;
};

export function Dialogs({ session, location, vaultId, dialog, contents, onOpenDialog }: DialogsProps) {
  const { showToast } = useToasts();
  const onClose = (): void => onOpenDialog(undefined);
  const refreshAndClose = (): void => {
    contents.refresh();
    onClose();
  };
  const onCreated = (secret: SecretMetadata): void => {
    refreshAndClose();
    showToast(`Saved ${secret.name}`);
  };
  const onImported = ({ created, changed }: ImportReport): void => {
    refreshAndClose();
    showToast(`Imported: ${created.length} new, ${changed.length} updated`);
  };
  const onSecretDone = (secret: SecretMetadata | undefined): void => {
    if (secret === undefined && location.secretId !== undefined)
      navigateTo(location, { secretId: undefined });
    refreshAndClose();
  };
  if (location.isExporting) {
    const close = (): void => navigateTo(location, { isExporting: false }, true);
    return <ExportDialog {...{ session, vaultId }} folder={location.folder} onClose={close} />;
  }
  switch (dialog?.kind) {
    case undefined:
      return null;
    case "new-secret":
      return <NewSecretDialog {...{ vaultId, onCreated, onClose }} folder={location.folder} />;
    case "import":
      return <ImportDialog {...{ vaultId, onClose }} folder={location.folder} onDone={onImported} />;
    case "new-vault":
      return <NewVaultDialog onClose={onClose} />;
    case "vault-settings":
      return <VaultSettings {...{ session, vaultId, onClose }} onDeleted={() => navigate("/secrets")} />;
    case "deleted-vaults":
      return <DeletedVaults onClose={onClose} />;
    case "move":
    case "delete":
    case "purge":
      return <SecretDialogs {...{ vaultId, dialog, onClose }} onDone={onSecretDone} />;
    case "bulk-move":
    case "bulk-delete":
    case "bulk-restore":
    case "bulk-export":
    case "add-tag":
    case "remove-tag":
      return (
        <BulkDialogs
          {...{ session, vaultId, dialog, onClose }}
          folder={location.folder}
          onChanged={() => contents.refresh()}
        />
      );
    case "new-folder":
    case "move-folder":
    case "delete-folder":
      return <FolderDialogs {...{ vaultId, dialog, onClose }} onDone={refreshAndClose} />;
  }
}

function NewVaultDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <NameDialog
      title="New vault"
      label="Name"
      hint="In your own account. Vaults to share are created in an organisation."
      action="Create vault"
      onClose={onClose}
      onSubmit={async (name) => {
        const { body } = await request<VaultDetail>(vaultsPath, { method: "POST", body: { name } });
        invalidate(vaultsPath);
        navigate(hrefOf({ vaultId: body.id }));
      }}
    />
  );
}
