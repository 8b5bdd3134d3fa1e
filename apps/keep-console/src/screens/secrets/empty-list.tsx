import { Link } from "@hearth-and-keep/page-design";
import { EmptyState } from "../../design/empty-state.tsx";
import type { OpenDialog } from "./dialogs.tsx";
import { hrefOf, type SecretsLocation } from "./secrets-location.ts";
import { useAccess } from "./vault-access.ts";

export type EmptyListProps = {
  readonly location: SecretsLocation;
  readonly onOpenDialog: (dialog: OpenDialog) => void;
};

export function EmptyList({ location, onOpenDialog }: EmptyListProps) {
  const { vaultId, folder, search, tag, isDeleted } = location;
  const canWrite = useAccess().allows("secrets:write");
  if (isDeleted)
    return (
      <EmptyState title="No deleted secrets">Deleted secrets can be restored here for 30 days.</EmptyState>
    );
  if (search.trim() !== "" || tag !== "") {
    return (
      <EmptyState
        title="No results"
        action={
          <Link className="button" to={hrefOf({ vaultId, folder })}>
            Clear search
          </Link>
        }
      >
        Search covers the names and folders in this vault, not values or notes.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title={folder === "/" ? "No secrets yet" : "This folder is empty"}
      action={
        canWrite && (
          <button type="button" className="button" onClick={() => onOpenDialog({ kind: "import" })}>
            Import from .env
          </button>
        )
      }
    >
      {canWrite
        ? "Create one with New secret, or import a file."
        : "You see the secrets that others create here and that are shared with you."}
    </EmptyState>
  );
}
