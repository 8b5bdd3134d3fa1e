import { go } from "@hearth-and-keep/page-design";
import type { ImportReport, SecretMetadata, Session, VaultDetail } from "@hearth-and-keep/vault-contract";
import { useToasts } from "../../design/toasts.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { changed } from "../../vault-api/use-query.ts";
import { vaultsPath } from "./api-paths.ts";
import { DeletedVaults } from "./deleted-vaults.tsx";
import { ExportDialog } from "./export-dialog.tsx";
import { type FolderDeed, FolderDeeds } from "./folder-dialogs.tsx";
import { ImportDialog } from "./import-dialog.tsx";
import { NameDialog } from "./name-dialog.tsx";
import { NewSecret } from "./new-secret.tsx";
import { type SecretDeed, SecretDeeds } from "./secret-dialogs.tsx";
import { addressOf, goTo, type SecretsPlace } from "./secrets-location.ts";
import type { VaultContents } from "./vault-contents.ts";
import { VaultSettings } from "./vault-settings.tsx";

/** What a person has begun to do and is asked about in a dialog; one at a time. */
export type Deed =
  | FolderDeed
  | SecretDeed
  | { readonly kind: "new-secret" | "import" | "new-vault" | "vault-settings" | "deleted-vaults" };

export type DeedsProps = {
  readonly session: Session;
  readonly place: SecretsPlace;
  readonly vaultId: string;
  readonly deed: Deed | undefined;
  readonly contents: VaultContents;
  readonly onDeed: (deed: Deed | undefined) => void;
};

export function Deeds({ session, place, vaultId, deed, contents, onDeed }: DeedsProps) {
  const { tell } = useToasts();
  const onClose = (): void => onDeed(undefined);
  const settle = (): void => {
    contents.changed();
    onClose();
  };
  const onMade = (secret: SecretMetadata): void => {
    settle();
    tell(`Saved ${secret.name}`);
  };
  const onImported = ({ created, changed: renewed }: ImportReport): void => {
    settle();
    tell(`Imported: ${created.length} new, ${renewed.length} with a new version`);
  };
  const onTaken = (secret: SecretMetadata | undefined): void => {
    if (secret === undefined && place.secretId !== undefined) goTo(place, { secretId: undefined });
    settle();
  };
  if (place.isExporting) {
    const close = (): void => goTo(place, { isExporting: false }, true);
    return <ExportDialog {...{ session, vaultId }} folder={place.folder} onClose={close} />;
  }
  switch (deed?.kind) {
    case undefined:
      return null;
    case "new-secret":
      return <NewSecret {...{ vaultId, onMade, onClose }} folder={place.folder} />;
    case "import":
      return <ImportDialog {...{ vaultId, onClose }} folder={place.folder} onDone={onImported} />;
    case "new-vault":
      return <NewVault onClose={onClose} />;
    case "vault-settings":
      return <VaultSettings {...{ vaultId, onClose }} onDeleted={() => go("/secrets")} />;
    case "deleted-vaults":
      return <DeletedVaults onClose={onClose} />;
    case "move":
    case "delete":
    case "purge":
      return <SecretDeeds {...{ vaultId, deed, onClose }} onDone={onTaken} />;
    case "new-folder":
    case "move-folder":
    case "delete-folder":
      return <FolderDeeds {...{ vaultId, deed, onClose }} onDone={settle} />;
  }
}

function NewVault({ onClose }: { readonly onClose: () => void }) {
  return (
    <NameDialog
      title="New vault"
      label="Name"
      hint="For a project or a team: tokens can be limited to some vaults"
      action="Make the vault"
      onClose={onClose}
      onDone={async (name) => {
        const { body } = await ask<VaultDetail>(vaultsPath, { method: "POST", body: { name } });
        changed(vaultsPath);
        go(addressOf({ vaultId: body.id }));
      }}
    />
  );
}
