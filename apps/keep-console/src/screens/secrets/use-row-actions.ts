import { navigate } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import type { MenuAction } from "../../design/menu.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import { secretPath, valuePath } from "./api-paths.ts";
import { clearClipboardLater } from "./clear-clipboard.ts";
import type { OpenDialog } from "./dialogs.tsx";
import type { ListEntry } from "./list-row.tsx";
import { navigateTo, type SecretsLocation } from "./secrets-location.ts";
import type { VaultContents } from "./vault-contents.ts";

export type RowActionsOptions = {
  readonly location: SecretsLocation;
  readonly contents: VaultContents;
  readonly onOpenDialog: (dialog: OpenDialog) => void;
};

export function useRestoreSecret({
  location,
  contents,
}: Omit<RowActionsOptions, "onOpenDialog">): (secret: SecretMetadata) => void {
  const { showToast } = useToasts();
  const { vaultId = "" } = location;
  const restore = async ({ id, name, revision }: SecretMetadata): Promise<void> => {
    try {
      await request(`${secretPath(vaultId, id)}/restore`, { method: "POST", revision });
      if (location.secretId !== undefined) navigateTo(location, { secretId: undefined });
      contents.refresh();
      showToast(`${name} restored`);
    } catch (error) {
      showToast(toApiError(error).message);
    }
  };
  return (secret) => void restore(secret);
}

/** The menu of a row. */
export function useRowActions({
  location,
  contents,
  onOpenDialog,
}: RowActionsOptions): (entry: ListEntry) => readonly MenuAction[] {
  const { showToast } = useToasts();
  const { vaultId = "" } = location;
  const restore = useRestoreSecret({ location, contents });
  const copy = async ({ id, name }: SecretMetadata): Promise<void> => {
    try {
      const { body } = await request<SecretValue>(valuePath(vaultId, id));
      await navigator.clipboard.writeText(body.value);
      clearClipboardLater(body.value);
      showToast(`Copied ${name}`);
    } catch (error) {
      showToast(error instanceof ApiError ? error.message : "The browser blocked access to the clipboard");
    }
  };
  return (entry) => {
    const open = { label: "Open", onSelect: () => navigate(entry.to) };
    if (entry.kind === "folder") {
      const { path } = entry;
      return [
        open,
        { label: "Move or rename…", onSelect: () => onOpenDialog({ kind: "move-folder", path }) },
        {
          label: "Delete…",
          onSelect: () => onOpenDialog({ kind: "delete-folder", path }),
          isDangerous: true,
        },
      ];
    }
    const { secret } = entry;
    if (secret.deleted_at !== undefined) {
      return [
        { label: "Restore", onSelect: () => restore(secret) },
        {
          label: "Delete permanently…",
          onSelect: () => onOpenDialog({ kind: "purge", secret }),
          isDangerous: true,
        },
      ];
    }
    return [
      open,
      { label: "Copy value", onSelect: () => void copy(secret) },
      { label: "Move or rename…", onSelect: () => onOpenDialog({ kind: "move", secret }) },
      { label: "Delete…", onSelect: () => onOpenDialog({ kind: "delete", secret }), isDangerous: true },
    ];
  };
}
