import { AddIcon, navigate } from "@hearth-and-keep/page-design";
import type { Vault } from "@hearth-and-keep/vault-contract";
import { ActionMenu, type MenuAction } from "../../design/menu.tsx";
import type { OpenDialog } from "./dialogs.tsx";
import { hrefOf, navigateTo, type SecretsLocation } from "./secrets-location.ts";
import { useAccess } from "./vault-access.ts";
import { VaultSwitcher } from "./vault-switcher.tsx";

export type VaultHeaderProps = {
  readonly location: SecretsLocation;
  readonly vault: Vault;
  /** Of the person's own account. */
  readonly vaults: readonly Vault[];
  readonly onOpenDialog: (dialog: OpenDialog) => void;
};

export function VaultHeader({ location, vault, vaults, onOpenDialog }: VaultHeaderProps) {
  const { allows } = useAccess();
  const actions = useVaultActions(location, onOpenDialog);
  return (
    <div className="screen-header">
      <h1 className="vault-heading">
        <VaultSwitcher
          vaults={vaults}
          current={vault}
          onNew={() => onOpenDialog({ kind: "new-vault" })}
          onSettings={() => onOpenDialog({ kind: "vault-settings" })}
          onAccess={() => navigateTo(location, { isSharing: true })}
          onDeleted={() => onOpenDialog({ kind: "deleted-vaults" })}
        />
      </h1>
      <div className="row">
        {actions.length > 0 && <ActionMenu label="More vault actions" actions={actions} />}
        {allows("secrets:write") && (
          <button
            type="button"
            className="button primary"
            aria-keyshortcuts="n"
            onClick={() => onOpenDialog({ kind: "new-secret" })}
          >
            <AddIcon />
            New secret
          </button>
        )}
      </div>
    </div>
  );
}

function useVaultActions(
  location: SecretsLocation,
  onOpenDialog: VaultHeaderProps["onOpenDialog"],
): readonly MenuAction[] {
  const { allows } = useAccess();
  const writing = [
    {
      label: "New folder…",
      onSelect: () => onOpenDialog({ kind: "new-folder", parent: location.folder }),
    },
    { label: "Import…", onSelect: () => onOpenDialog({ kind: "import" }) },
  ];
  const reading = { label: "Export…", onSelect: () => navigateTo(location, { isExporting: true }) };
  const environments = {
    label: "Environments",
    onSelect: () => navigate(hrefOf({ vaultId: location.vaultId, view: "environments" })),
  };
  const deleted = {
    label: "Recently deleted",
    onSelect: () => navigateTo(location, { view: "secrets", isDeleted: true, search: "", tag: "" }),
  };
  return [
    ...(allows("secrets:write") ? writing : []),
    ...(allows("secrets:read") ? [reading] : []),
    ...(allows("secrets:list") ? [environments, deleted] : []),
  ];
}
