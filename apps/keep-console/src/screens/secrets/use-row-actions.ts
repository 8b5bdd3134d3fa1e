import { navigate } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import type { MenuAction } from "../../design/menu.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import { explainRestore } from "../approvals/explain-approval.ts";
import type { Scope } from "../tokens/scopes.ts";
import { secretPath, valuePath } from "./api-paths.ts";
import { clearClipboardLater } from "./clear-clipboard.ts";
import type { OpenDialog } from "./dialogs.tsx";
import { accessPathOf, type ListEntry } from "./list-row.tsx";
import { navigateTo, type SecretsLocation } from "./secrets-location.ts";
import { type Access, useAccess } from "./vault-access.ts";
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
      await explainRestore(request(`${secretPath(vaultId, id)}/restore`, { method: "POST", revision }));
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
  const access = useAccess();
  return (entry) => {
    const open = { label: "Open", onSelect: () => navigate(entry.to) };
    if (entry.kind === "folder") {
      return [open, ...allowedActions(folderActions(entry.path, onOpenDialog), access, accessPathOf(entry))];
    }
    const { secret } = entry;
    if (secret.deleted_at !== undefined) {
      const purge = (): void => onOpenDialog({ kind: "purge", secret });
      const actions: readonly ScopedAction[] = [
        { label: "Restore", scope: "secrets:write", onSelect: () => restore(secret) },
        { label: "Delete permanently…", scope: "secrets:destroy", onSelect: purge, isDangerous: true },
      ];
      const allowed = allowedActions(actions, access, secret.path);
      return allowed.length === 0 ? [open] : allowed;
    }
    const move = (): void => onOpenDialog({ kind: "move", secret });
    const remove = (): void => onOpenDialog({ kind: "delete", secret });
    const actions: readonly ScopedAction[] = [
      { label: "Copy value", scope: "secrets:read", onSelect: () => void copy(secret) },
      { label: "Move or rename…", scope: "secrets:write", onSelect: move },
      { label: "Delete…", scope: "secrets:delete", onSelect: remove, isDangerous: true },
    ];
    return [open, ...allowedActions(actions, access, secret.path)];
  };
}

type ScopedAction = MenuAction & { readonly scope: Scope };

function folderActions(
  path: string,
  onOpenDialog: RowActionsOptions["onOpenDialog"],
): readonly ScopedAction[] {
  return [
    {
      label: "Move or rename…",
      scope: "secrets:write",
      onSelect: () => onOpenDialog({ kind: "move-folder", path }),
    },
    {
      label: "Delete…",
      scope: "secrets:delete",
      onSelect: () => onOpenDialog({ kind: "delete-folder", path }),
      isDangerous: true,
    },
  ];
}

function allowedActions(
  actions: readonly ScopedAction[],
  access: Access,
  path: string,
): readonly MenuAction[] {
  return actions.filter(({ scope }) => access.allows(scope, path));
}
